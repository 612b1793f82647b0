// SPDX-License-Identifier: GPL-2.0

//! Functions as handlers: the documentation of [`kprobe`] and [`kretprobe`](macro@kretprobe).
//!
//! The macros are in `rust/macros/kprobe.rs`. They make an [`EntryHandler`] or a [`ReturnHandler`],
//! so the result can be used like any such handler: registered elsewhere, disabled, and in batches.
//!
//! [`EntryHandler`]: super::EntryHandler
//! [`ReturnHandler`]: super::ReturnHandler

/// Makes a function a handler of the calls of another function, whose arguments it takes.
///
/// The function has these parameters, in this order:
///
/// - `&State`, the state of the registration, of any type that is [`Send`] and [`Sync`]. Optional;
/// - [`&Entry<'_>`](super::Entry), the call. Optional;
/// - the arguments of the probed function, from the first on. Each type is an
///   [`Argument`](super::Argument): an integer, `bool`, a raw pointer, or
///   [`UserPtr`](crate::uaccess::UserPtr). The compiler finds their locations, in registers or on
///   the stack, by the calling convention;
/// - `_: ...`, if the function may have more arguments.
///
/// The function becomes a type of the same name, an [`EntryHandler`](super::EntryHandler), with
///
/// - `register(&here)`, or `register(&here, state)` if it has a state, which registers a probe and
///   returns an [`EntryProbe`](super::EntryProbe);
/// - `PLACE`, the entry of the probed function.
///
/// They are as visible as the function. The attribute names the probed function:
///
/// - `symbol = "function"` or `symbol = "module:function"`. The types are not checked: a wrong type
///   gives a wrong number. If the kernel has BTF of the function, registering is refused if the
///   function has another number of arguments (with `_: ...`, fewer than the handler), or some of
///   another size. A handler without arguments is not compared.
/// - `function = bindings::function`, by its declaration, if `bindings` has the function: the
///   headers in `rust/bindings/bindings_helper.h` must declare it. Then all arguments must be
///   named, and the handler compiles only if their types are the declaration's types, or [may stand
///   for them](super::StandsFor). A function that returns a structure is refused.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         kprobe,
///         Entry,
///         ProcessContext, //
///     },
///     prelude::*,
///     uaccess::UserPtr, //
/// };
///
/// /// `do_sys_openat2(int dfd, const char __user *filename, struct open_how *how)`
/// #[kprobe(symbol = "do_sys_openat2")]
/// fn on_open(call: &Entry<'_>, dfd: c_int, name: UserPtr, _: ...) {
///     let mut room = [0; 64];
///     if let Ok(name) = call.read_user_str(name, &mut room) {
///         pr_debug!("open of {name} in {dfd}\n");
///     }
/// }
///
/// let here = ProcessContext::here()?;
/// let probe = on_open::register(&here)?;
/// # drop(probe);
/// # Ok::<(), Error>(())
/// ```
///
/// With a state, and compared with the declaration:
///
/// ```
/// use kernel::{
///     bindings,
///     kprobes::{
///         kprobe,
///         EntryBatch,
///         ProcessContext, //
///     },
///     prelude::*,
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     }, //
/// };
///
/// /// `void msleep(unsigned int msecs)`
/// #[kprobe(function = bindings::msleep)]
/// fn on_sleep(total: &Atomic<u64>, milliseconds: c_uint) {
///     total.fetch_add(milliseconds.into(), Relaxed);
/// }
///
/// let here = ProcessContext::here()?;
/// let probe = on_sleep::register(&here, Atomic::new(0))?;
/// kernel::time::delay::fsleep(kernel::time::Delta::from_millis(30));
/// pr_info!("{} ms were slept\n", probe.state().load(Relaxed));
///
/// // It is a handler like any other.
/// let batch = EntryBatch::<on_sleep>::register(&here, &[on_sleep::PLACE], |_| Atomic::new(0))?;
/// # drop(batch);
/// # Ok::<(), Error>(())
/// ```
pub use macros::kprobe;

/// Makes a function a handler of the returns of another function, or makes two functions a handler
/// of its calls and returns.
///
/// The attribute names the probed function as with [`kprobe`]; on a function by `symbol` only, as
/// there are no arguments to compare.
///
/// On a function, with these parameters, all optional:
///
/// - `&State`, the state of the registration;
/// - [`&Return<'_>`](super::Return), the call that returns;
/// - the return value of the probed function, an [`Argument`](super::Argument).
///
/// The function becomes a type of the same name, a [`ReturnHandler`](super::ReturnHandler), with
/// `register()`, which returns a [`ReturnProbe`](super::ReturnProbe), and with `PLACE`.
///
/// On an `impl` of one of the client's types, with two functions:
///
/// - `enter`, with the parameters of a function with [`kprobe`]. Its return value is kept for the
///   call while the call runs, in the probe's memory: a [`Copy`] and [`Send`] type of at most 4096
///   bytes. If it is an [`Option`], the end of calls with [`None`] is not reported.
/// - `leave`, with the parameters above, and the return value of `enter` (without the [`Option`])
///   before the function's return value.
///
/// The type is a [`ReturnHandler`](super::ReturnHandler) then, with `register()` and `PLACE`, which
/// are as visible as `leave` is. The `impl` may have other functions, too.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         kretprobe,
///         ProcessContext, //
///     },
///     prelude::*,
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     },
///     time::{
///         Instant,
///         Monotonic, //
///     }, //
/// };
///
/// /// `pid_t kernel_clone(struct kernel_clone_args *args)`
/// #[kretprobe(symbol = "kernel_clone")]
/// fn on_clone(pid: i32) {
///     pr_debug!("there is a task {pid}\n");
/// }
///
/// /// How long the calls take.
/// struct Clones;
///
/// #[kretprobe(symbol = "kernel_clone")]
/// impl Clones {
///     fn enter(arguments: *const c_void) -> Option<Instant<Monotonic>> {
///         (!arguments.is_null()).then(Instant::now)
///     }
///
///     fn leave(longest: &Atomic<i64>, begun: Instant<Monotonic>, pid: i32) {
///         let nanoseconds = begun.elapsed().as_nanos();
///         if pid > 0 && nanoseconds > longest.load(Relaxed) {
///             longest.store(nanoseconds, Relaxed);
///         }
///     }
/// }
///
/// let here = ProcessContext::here()?;
/// let probe = on_clone::register(&here)?;
/// let times = Clones::register(&here, Atomic::new(0))?;
/// # drop((probe, times));
/// # Ok::<(), Error>(())
/// ```
#[cfg(CONFIG_KRETPROBES)]
pub use macros::kretprobe;
