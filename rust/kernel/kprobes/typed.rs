// SPDX-License-Identifier: GPL-2.0

//! Functions as handlers: what [`kprobe`] and [`kretprobe`](macro@kretprobe) tell.
//!
//! The macros are in `rust/macros/kprobe.rs`. What they make is an [`EntryHandler`] or a
//! [`ReturnHandler`], so whatever there is for those is there for these: they may be registered
//! elsewhere, disabled, and in batches.
//!
//! [`EntryHandler`]: super::EntryHandler
//! [`ReturnHandler`]: super::ReturnHandler

/// Makes a function a handler of the beginning of calls of another one, whose arguments it has.
///
/// What the function has between its parentheses is, in this order:
///
/// - `&State`, what the registration owns, of any type that is [`Send`] and [`Sync`]. It may be
///   left out;
/// - [`&Entry<'_>`](super::Entry), the call. It may be left out;
/// - the arguments of what is probed, from the first on. Each is of a type that is an
///   [`Argument`](super::Argument): an integer, `bool`, a raw pointer, or
///   [`UserPtr`](crate::uaccess::UserPtr). Where they are, in registers or on the stack, the
///   compiler finds out by the rules of the machine;
/// - `_: ...`, if the function may have more arguments than these.
///
/// The function becomes a type of the same name, an [`EntryHandler`](super::EntryHandler), with
///
/// - `register(&here)`, or `register(&here, state)` if it has a state, which registers a probe and
///   answers an [`EntryProbe`](super::EntryProbe);
/// - `PLACE`, where the function that is probed begins.
///
/// They are as visible as the function is. What is probed is said in one of these ways:
///
/// - `symbol = "function"` or `symbol = "module:function"`. The types are taken as they are said: a
///   wrong one is a wrong number. Where the kernel has BTF of the function, to register it is
///   refused if it has another number of arguments (but more will do with `_: ...`), or some of
///   another size. A handler without any is not compared.
/// - `function = bindings::function`, by its declaration, if `bindings` has the function: those are
///   there that the headers in `rust/bindings/bindings_helper.h` declare. Then all arguments must
///   be named, and it does not compile unless their types are those of the declaration, or
///   [may stand for them](super::StandsFor).
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

/// Makes a function a handler of the end of calls of another one, or two of them a handler of the
/// beginning and the end.
///
/// What is probed is said as with [`kprobe`]; before a function by `symbol` only, as there are no
/// arguments to compare.
///
/// Before a function, which has between its parentheses, each of which may be left out:
///
/// - `&State`, what the registration owns;
/// - [`&Return<'_>`](super::Return), the call that is over;
/// - what the probed function has returned, an [`Argument`](super::Argument).
///
/// The function becomes a type of the same name, a [`ReturnHandler`](super::ReturnHandler), with
/// `register()`, which answers a [`ReturnProbe`](super::ReturnProbe), and with `PLACE`.
///
/// Before an `impl` of a type of the client's, with two functions:
///
/// - `enter`, which has what a function with [`kprobe`] has. What it returns is kept for the call
///   while that lasts, in memory of the probe's: something that is [`Copy`] and [`Send`], of 4096
///   bytes at most. If it is an [`Option`], the end of calls with [`None`] is not told.
/// - `leave`, which has what is said above, and what `enter` has returned (from inside of the
///   [`Option`]) in front of the function's value.
///
/// The type is a [`ReturnHandler`](super::ReturnHandler) then, with `register()` and `PLACE`, which
/// are as visible as `leave` is. Other functions may be in the `impl`, too.
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
