/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/capture_filter.h"

#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct bpf_insn insns[CAPTURE_FILTER_MAX];

static const struct {
	const char *text;
	size_t count; /* 0: refused */
} rows[] = {
	{ "1,6 0 0 262144", 1 }, { "4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0", 4 }, { "1,6 0 0 4294967295", 1 },
	{ "", 0 }, { "0", 0 }, { "1", 0 }, { "2,6 0 0 1", 0 }, /* fewer than said */
	{ "1,6 0 0 1,6 0 0 1", 0 },                            /* more */
	{ "1,6 0 0", 0 }, { "1,6 0 0 ", 0 }, { "1, 6 0 0 1", 0 }, { "1,6 0 0 -1", 0 }, { "1,6 0 0 4294967296", 0 },
	{ "1,65536 0 0 1", 0 }, { "1,6 256 0 1", 0 }, { "1,6 0 256 1", 0 }, { "4097,6 0 0 1", 0 },
	{ "18446744073709551617,6 0 0 1", 0 }, { "x,6 0 0 1", 0 }, { "1,40 0 0 12", 0 }, /* doesn't end with a return */
	{ "2,21 5 0 0,6 0 0 1", 0 },                                                     /* jumps out of the program */
	{ "2,5 0 0 4294967295,6 0 0 1", 0 },                                             /* jumps back */
	{ "2,3 0 0 16,6 0 0 1", 0 }, /* store out of the scratch memory */
	{ "2,52 0 0 0,6 0 0 1", 0 }, /* division by zero */
	{ "1,65535 0 0 1", 0 },      /* no such instruction */
	{ "2,23 0 0 0,6 0 0 1", 0 }, /* ... though libpcap's check takes it */
};

static void texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		size_t count = 0;
		knot_err_t err = capture_filter_scan(rows[i].text, insns, &count);
		if (count != rows[i].count || (err == KNOT_OK) != (rows[i].count > 0)) {
			fail_msg("%s: %zu, %s", rows[i].text, count, knot_strerror(err));
		}
	}
}

/* What libpcap compiles comes through unchanged. */
static void compiled(void **state)
{
	(void)state;
	static const char *const expressions[] = {
		"",
		"udp port 53",
		"host 2001:db8::1 or vlan",
		"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not net 192.0.2.0/24",
	};
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 262144);
	for (size_t i = 0; i < KNOT_LEN(expressions); i++) {
		struct bpf_program program;
		assert_int_equal(pcap_compile(pcap, &program, expressions[i], 1, PCAP_NETMASK_UNKNOWN), 0);
		char text[16384];
		size_t len = (size_t)snprintf(text, sizeof(text), "%u", program.bf_len), count = 0;
		for (unsigned j = 0; j < program.bf_len; j++) {
			const struct bpf_insn *insn = &program.bf_insns[j];
			len += (size_t)snprintf(text + len, sizeof(text) - len, ",%u %u %u %u", insn->code, insn->jt,
					insn->jf, insn->k);
		}
		assert_int_equal(capture_filter_scan(text, insns, &count), KNOT_OK);
		assert_int_equal(count, program.bf_len);
		assert_memory_equal(insns, program.bf_insns, count * sizeof(*insns));
		pcap_freecode(&program);
	}
	pcap_close(pcap);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(texts), cmocka_unit_test(compiled) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
