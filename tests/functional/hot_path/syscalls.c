/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the system calls of one thread by number until SIGTERM comes, at most some seconds: syscalls THREAD SECONDS.
 * Prints lines "number count". */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 1024 };

static volatile sig_atomic_t is_over;

static void on_end(int number)
{
	(void)number;
	is_over = 1;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: syscalls THREAD SECONDS\n");
		return 2;
	}
	static unsigned long counts[NUMBERS];
	pid_t thread = (pid_t)strtol(argv[1], NULL, 10);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_end }, NULL);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_end }, NULL);
	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0) {
		fail("PTRACE_SEIZE");
	}
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0) {
		fail("PTRACE_INTERRUPT");
	}
	printf("ready\n");
	fflush(stdout);
	alarm((unsigned)strtoul(argv[2], NULL, 10));
	int status;
	while (!is_over) {
		if (waitpid(thread, &status, __WALL) < 0) {
			if (errno == EINTR) {
				break;
			}
			fail("waitpid");
		}
		if (!WIFSTOPPED(status)) {
			fprintf(stderr, "the thread has ended\n");
			return 1;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			struct __ptrace_syscall_info info;
			if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(info), &info) > 0 &&
					info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr < NUMBERS) {
				counts[info.entry.nr]++;
			}
		}
		if (ptrace(PTRACE_SYSCALL, thread, NULL, NULL) != 0) {
			fail("PTRACE_SYSCALL");
		}
	}
	/* It runs, or has just stopped. */
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0) {
		(void)waitpid(thread, &status, __WALL);
	}
	(void)ptrace(PTRACE_DETACH, thread, NULL, NULL);
	for (unsigned i = 0; i < NUMBERS; i++) {
		if (counts[i] > 0) {
			printf("%u %lu\n", i, counts[i]);
		}
	}
	return 0;
}
