/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/bpf/embed.h"

/* The path is relative to the top build directory, where make runs the compiler. */
#define EMBED(name, path)                                                                                              \
	__asm__(".pushsection .rodata\n"                                                                               \
		".balign 8\n"                                                                                          \
		".global kxdp_" #name "_begin\n"                                                                       \
		".hidden kxdp_" #name "_begin\n"                                                                       \
		"kxdp_" #name "_begin:\n"                                                                              \
		".incbin \"" path "\"\n"                                                                               \
		".global kxdp_" #name "_end\n"                                                                         \
		".hidden kxdp_" #name "_end\n"                                                                         \
		"kxdp_" #name "_end:\n"                                                                                \
		".byte 0\n"                                                                                            \
		".popsection\n");                                                                                      \
	extern const uint8_t kxdp_##name##_begin[], kxdp_##name##_end[];                                               \
	knot_bytes_t kxdp_##name##_object(void)                                                                        \
	{                                                                                                              \
		return (knot_bytes_t){ kxdp_##name##_begin, (size_t)(kxdp_##name##_end - kxdp_##name##_begin) };       \
	}

EMBED(filter, "xdp/bpf/filter.bpf.o")
EMBED(send, "xdp/bpf/send.bpf.o")
