/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of the metrics endpoint, as it is in dashboard.html. The assembler finds it by -I. */
#include "src/control/dashboard.h"

__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"dashboard_page_begin:\n"
	".incbin \"src/control/dashboard.html\"\n"
	"dashboard_page_end:\n"
	".popsection\n");

extern const char page_begin[] __asm__("dashboard_page_begin"), page_end[] __asm__("dashboard_page_end");

const char *dashboard_page(size_t *ret_len)
{
	*ret_len = (size_t)(page_end - page_begin);
	return page_begin;
}
