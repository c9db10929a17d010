/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PERCPU_H
#define _SHIM_LINUX_PERCPU_H

/* Each thread is a processor. */
#define DECLARE_PER_CPU(type, name)	extern _Thread_local type name
#define DEFINE_PER_CPU(type, name)	_Thread_local type name
#define this_cpu_read(variable)		(variable)
#define raw_cpu_ptr(pointer)		(pointer)
#define this_cpu_inc(variable)		((void)(variable)++)
#define this_cpu_dec(variable)		((void)(variable)--)

#endif /* _SHIM_LINUX_PERCPU_H */
