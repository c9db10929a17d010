// SPDX-License-Identifier: GPL-2.0
/*
 * Does the machine keep the vector registers of processes apart? The C library copies strings with
 * them. User Mode Linux saves and restores them itself at each switch, and has failed to do so on
 * processors with larger registers than it knows. The test does not use the module.
 *
 * Several processes keep different patterns in all registers while other processes run.
 */
#include <stdio.h>
#ifndef __x86_64__
int main(void)
{
	printf("TAP version 13\n1..0 # SKIP only for processors on which User Mode Linux runs\n");
	return 4;
}
#else
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, ROUNDS = 2000, VECTORS = 32, MASKS = 7 };

struct registers {
	uint8_t vector[VECTORS][64];
	uint64_t mask[MASKS];
} __attribute__((aligned(64)));

#define LOAD(op, reg, n)	#op " " #n "*64(%[r]), %%" #reg #n "\n\t"
#define STORE(op, reg, n)	#op " %%" #reg #n ", " #n "*64(%[r])\n\t"
#define LOW(what, op, reg)	what(op, reg, 0) what(op, reg, 1) what(op, reg, 2) \
	what(op, reg, 3) what(op, reg, 4) what(op, reg, 5) what(op, reg, 6) what(op, reg, 7) \
	what(op, reg, 8) what(op, reg, 9) what(op, reg, 10) what(op, reg, 11) \
	what(op, reg, 12) what(op, reg, 13) what(op, reg, 14) what(op, reg, 15)
#define HIGH(what, op, reg)	what(op, reg, 16) what(op, reg, 17) what(op, reg, 18) \
	what(op, reg, 19) what(op, reg, 20) what(op, reg, 21) what(op, reg, 22) \
	what(op, reg, 23) what(op, reg, 24) what(op, reg, 25) what(op, reg, 26) \
	what(op, reg, 27) what(op, reg, 28) what(op, reg, 29) what(op, reg, 30) \
	what(op, reg, 31)
/* k0 cannot be used as a mask, but it is a register like the others. */
#define LOAD_MASK(n)		"kmovw 2048+" #n "*8(%[r]), %%k" #n "\n\t"
#define STORE_MASK(n)		"kmovw %%k" #n ", 2048+" #n "*8(%[r])\n\t"
#define MASKS_OF(what)		what(0) what(1) what(2) what(3) what(4) what(5) what(6)

/* Only the system call is between load and store, because the compiler may use the registers. */
#define HOLD(load, store, r)						\
	do {								\
		long ret = SYS_sched_yield;				\
									\
		asm volatile(load "syscall\n\t" store : "+a" (ret)	\
			     : [r] "r" (r) : "rcx", "r11", "memory");	\
	} while (0)

static void __attribute__((target("avx512f"))) hold_avx512(struct registers *r)
{
	HOLD(LOW(LOAD, vmovdqu64, zmm) HIGH(LOAD, vmovdqu64, zmm) MASKS_OF(LOAD_MASK),
	     LOW(STORE, vmovdqu64, zmm) HIGH(STORE, vmovdqu64, zmm) MASKS_OF(STORE_MASK)
	     "vzeroall\n\t", r);
}

static void hold_avx(struct registers *r)
{
	HOLD(LOW(LOAD, vmovdqu, ymm), LOW(STORE, vmovdqu, ymm) "vzeroall\n\t", r);
}

static void hold_sse(struct registers *r)
{
	HOLD(LOW(LOAD, movdqu, xmm), LOW(STORE, movdqu, xmm), r);
}

/* One of the processes. Returns how often its registers did not have the pattern. */
static int wrong_rounds(void (*hold)(struct registers *r), int number)
{
	static struct registers want, got;
	int round, i, wrong = 0;

	for (round = 0; round < ROUNDS; round++) {
		memset(want.vector, 17 * number + round, sizeof(want.vector));
		for (i = 0; i < VECTORS; i++)
			want.vector[i][63] = want.vector[i][0] = i;
		for (i = 0; i < MASKS; i++)
			want.mask[i] = (number << 12 | round << 4 | i) & 0xffff;
		got = want;
		hold(&got);
		wrong += !!memcmp(&got, &want, sizeof(got));
	}
	return wrong;
}

int main(void)
{
	void (*hold)(struct registers *r) = hold_sse;
	const char *name = "xmm";
	int i, status, failed = 0;
	pid_t pid[PROCESSES];

	if (__builtin_cpu_supports("avx512f")) {
		hold = hold_avx512;
		name = "zmm and mask";
	} else if (__builtin_cpu_supports("avx")) {
		hold = hold_avx;
		name = "ymm";
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n");
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			err(1, "fork");
		if (!pid[i])
			_exit(wrong_rounds(hold, i) != 0);
	}
	for (i = 0; i < PROCESSES; i++)
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			failed++;
	if (failed)
		printf("# %d of %d processes found values of other processes\n", failed, PROCESSES);
	printf("%sok 1 %s registers of processes are kept apart\n", failed ? "not " : "", name);
	return !!failed;
}
#endif
