/* SPDX-License-Identifier: GPL-2.0 */
/* Cases of arm in the suite of lib/tests/kprobes/fault.c: none. */
