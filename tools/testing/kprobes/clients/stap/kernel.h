/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SystemTap 5.6 knows 7.3-rc3; this is what it asks for and 7.3 has no more.
 * Each of its scripts for make test-clients is compiled with this in front.
 */
#define task_euid(task) task_cred_xxx((task), euid)
