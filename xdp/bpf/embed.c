/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/bpf/embed.h"

/* The path is relative to the top build directory, where make runs the compiler. */
__asm__(".pushsection .rodata\n"
	".balign 8\n"
	".global kxdp_filter_begin\n"
	".hidden kxdp_filter_begin\n"
	"kxdp_filter_begin:\n"
	".incbin \"xdp/bpf/filter.bpf.o\"\n"
	".global kxdp_filter_end\n"
	".hidden kxdp_filter_end\n"
	"kxdp_filter_end:\n"
	".byte 0\n"
	".popsection\n");

extern const uint8_t kxdp_filter_begin[], kxdp_filter_end[];

knot_bytes_t kxdp_filter_object(void)
{
	return (knot_bytes_t){ kxdp_filter_begin, (size_t)(kxdp_filter_end - kxdp_filter_begin) };
}
