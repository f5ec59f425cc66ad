/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of modules: instances of a configuration's text, and requests at their gates. */
#pragma once

#include "src/modules/module.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/un.h>
#include <cmocka.h>

static inline void test_gate_no_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	fail_msg("%s", fault->text);
}

/** A chain of one module. text: the configuration. */
static inline module_chain_t *test_gate_chain(const char *text, const char *name, const char *id)
{
	conf_t *conf;
	assert_int_equal(conf_load_text("test", knot_str_of(text), NULL, (conf_sink_t){ test_gate_no_fault, NULL },
					 &conf),
			KNOT_OK);
	conf_modref_t ref = { name, id };
	module_chain_t *chain = NULL;
	assert_int_equal(module_chain_new(conf, (conf_modrefs_t){ &ref, 1 }, &chain), KNOT_OK);
	conf_free(conf); /* a chain keeps nothing of it */
	return chain;
}

/** An address of text, "" for a UNIX socket's. */
static inline struct sockaddr_storage test_gate_address(const char *text)
{
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	struct sockaddr_in *in = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		address.ss_family = AF_INET;
	} else if (text[0] != '\0') {
		address.ss_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	}
	return address;
}

/** What the chain's first module says to a request. local NULL: not known. */
static inline answer_refusal_t test_gate_ask(const module_chain_t *chain, answer_protocol_t protocol,
		const char *remote, const char *local, const answer_request_t *request, const answer_turn_t *turn,
		module_notes_t *notes)
{
	struct sockaddr_storage from = test_gate_address(remote), to = test_gate_address(local != NULL ? local : "");
	const answer_source_t source = {
		.protocol = protocol,
		.remote = (const struct sockaddr *)&from,
		.local = local != NULL ? (const struct sockaddr *)&to : NULL,
		.turn = turn,
	};
	return chain->instances[0]->api->gate(chain->instances[0], &source, request, notes);
}
