/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/capture_filter.h"

#include "libknot/base/number.h"

#include <stdbool.h>
#include <stdint.h>

/* What bpf_filter() knows: bpf_validate() takes a few codes besides, on which it would end the process. */
static const uint16_t known_codes[] = {
	BPF_RET | BPF_K,
	BPF_RET | BPF_A,
	BPF_LD | BPF_W | BPF_ABS,
	BPF_LD | BPF_H | BPF_ABS,
	BPF_LD | BPF_B | BPF_ABS,
	BPF_LD | BPF_W | BPF_IND,
	BPF_LD | BPF_H | BPF_IND,
	BPF_LD | BPF_B | BPF_IND,
	BPF_LD | BPF_W | BPF_LEN,
	BPF_LD | BPF_IMM,
	BPF_LD | BPF_MEM,
	BPF_LDX | BPF_W | BPF_LEN,
	BPF_LDX | BPF_IMM,
	BPF_LDX | BPF_MEM,
	BPF_LDX | BPF_MSH | BPF_B,
	BPF_ST,
	BPF_STX,
	BPF_JMP | BPF_JA,
	BPF_JMP | BPF_JGT | BPF_K,
	BPF_JMP | BPF_JGE | BPF_K,
	BPF_JMP | BPF_JEQ | BPF_K,
	BPF_JMP | BPF_JSET | BPF_K,
	BPF_JMP | BPF_JGT | BPF_X,
	BPF_JMP | BPF_JGE | BPF_X,
	BPF_JMP | BPF_JEQ | BPF_X,
	BPF_JMP | BPF_JSET | BPF_X,
	BPF_ALU | BPF_ADD | BPF_K,
	BPF_ALU | BPF_SUB | BPF_K,
	BPF_ALU | BPF_MUL | BPF_K,
	BPF_ALU | BPF_DIV | BPF_K,
	BPF_ALU | BPF_MOD | BPF_K,
	BPF_ALU | BPF_AND | BPF_K,
	BPF_ALU | BPF_OR | BPF_K,
	BPF_ALU | BPF_XOR | BPF_K,
	BPF_ALU | BPF_LSH | BPF_K,
	BPF_ALU | BPF_RSH | BPF_K,
	BPF_ALU | BPF_ADD | BPF_X,
	BPF_ALU | BPF_SUB | BPF_X,
	BPF_ALU | BPF_MUL | BPF_X,
	BPF_ALU | BPF_DIV | BPF_X,
	BPF_ALU | BPF_MOD | BPF_X,
	BPF_ALU | BPF_AND | BPF_X,
	BPF_ALU | BPF_OR | BPF_X,
	BPF_ALU | BPF_XOR | BPF_X,
	BPF_ALU | BPF_LSH | BPF_X,
	BPF_ALU | BPF_RSH | BPF_X,
	BPF_ALU | BPF_NEG,
	BPF_MISC | BPF_TAX,
	BPF_MISC | BPF_TXA,
};

static bool filter_is_known_insn(uint16_t code)
{
	for (size_t i = 0; i < KNOT_LEN(known_codes); i++) {
		if (known_codes[i] == code) {
			return true;
		}
	}
	return false;
}

/* A decimal number up to `max` at *text, which goes behind it. */
static bool filter_scan_number(const char **text, uint64_t max, uint32_t *ret_number)
{
	enum {
		DIGITS_MAX = 20
	}; /* of 64 bits: a program has thousands of numbers, so don't look for its end each time */
	uint64_t number;
	size_t len;
	knot_str_t digits = { *text, strnlen(*text, DIGITS_MAX) };
	if (knot_number_begin(digits, max, &number, &len) != KNOT_NUMBER_OK) {
		return false;
	}
	*text += len;
	*ret_number = (uint32_t)number;
	return true;
}

static bool filter_scan_char(const char **text, char c)
{
	bool is_there = **text == c;
	*text += is_there;
	return is_there;
}

static bool filter_scan_insn(const char **text, struct bpf_insn *ret_insn)
{
	uint32_t code, jt, jf, k;
	bool is_good = filter_scan_char(text, ',') && filter_scan_number(text, UINT16_MAX, &code) &&
		       filter_scan_char(text, ' ') && filter_scan_number(text, UINT8_MAX, &jt) &&
		       filter_scan_char(text, ' ') && filter_scan_number(text, UINT8_MAX, &jf) &&
		       filter_scan_char(text, ' ') && filter_scan_number(text, UINT32_MAX, &k);
	is_good = is_good && filter_is_known_insn((uint16_t)code);
	if (is_good) {
		*ret_insn = (struct bpf_insn){ .code = (u_short)code, .jt = (u_char)jt, .jf = (u_char)jf, .k = k };
	}
	return is_good;
}

/* libpcap lets programs jump back, for its "protochain"; such a program may never end. */
static bool filter_jumps_forward(const struct bpf_insn *insns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (insns[i].code == (BPF_JMP | BPF_JA) && insns[i].k >= count - i - 1) {
			return false;
		}
	}
	return true;
}

knot_err_t capture_filter_scan(const char *text, struct bpf_insn *ret_insns, size_t *ret_count)
{
	uint32_t count;
	if (!filter_scan_number(&text, CAPTURE_FILTER_MAX, &count) || count == 0) {
		return KNOT_EMALF;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!filter_scan_insn(&text, &ret_insns[i])) {
			return KNOT_EMALF;
		}
	}
	if (*text != '\0' || !filter_jumps_forward(ret_insns, count) || bpf_validate(ret_insns, (int)count) == 0) {
		return KNOT_EMALF;
	}
	*ret_count = count;
	return KNOT_OK;
}
