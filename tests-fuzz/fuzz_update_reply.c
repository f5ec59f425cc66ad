/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Servers of any kind to knsupdate: what it makes of the answers to an update. One that succeeds has an answer that
 * says so, to this update; with a key nobody can say so without it.
 *
 * Input: settings (1 byte: bit 0 with a key, bit 1 over TCP), then what the server does, played.h.
 */
#include "src/tools/nsupdate/session.h"
#include "tests-fuzz/played.h"

#include <unistd.h>

enum { IS_KEYED = 1, IS_TCP = 2, RETRIES = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned queries;

static void take_query(bool is_beside)
{
	played_check(!is_beside && ++queries <= RETRIES + 1);
}

static bool run(session_t *session, const char *line)
{
	bool is_over;
	return session_run(session, knot_str_of(line), &is_over);
}

/* It is a reply to an update, without an error, and nothing else. */
static void check_success(const session_t *session)
{
	knot_bytes_t reply = played_reply();
	played_check(reply.len >= KNOT_MSG_HEADER_LEN && session->answer_len == reply.len);
	played_check((reply.data[2] & 0xF8) == (0x80 | KNOT_OPCODE_UPDATE << 3) && (reply.data[3] & 0x0F) == 0);
	played_check(session->script.draft.count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static session_t session;
	static int output;
	if (output == 0) {
		output = played_output();
	}
	if (size < 1) {
		return 0;
	}
	session = (session_t){ .settings = lookup_query_default() };
	session.settings.is_tcp = data[0] & IS_TCP;
	session.settings.retries = RETRIES;
	queries = 0;
	played_begin((knot_bytes_t){ data + 1, size - 1 }, take_query);
	script_init(&session.script);
	played_check(run(&session, "server 192.0.2.1") && run(&session, "zone z."));
	played_check(run(&session, "update add a.z. 300 A 192.0.2.1"));
	played_check((data[0] & IS_KEYED) == 0 ||
			run(&session, "key hmac-sha256:k AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
	bool is_good = run(&session, "send");
	played_check(queries > 0 && !(is_good && (data[0] & IS_KEYED) != 0));
	if (is_good) {
		check_success(&session);
	}
	(void)run(&session, "answer");
	script_done(&session.script);
	played_check(lookup_done(&session.lookup));
	played_check(lseek(output, 0, SEEK_SET) == 0 && ftruncate(output, 0) == 0);
	return 0;
}
