/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the other end of a QUIC connection says, behind a handshake: any frames in packets that decrypt, and datagrams
 * that are none. The connection ends or goes on; an event is one of a stream that there is, and its last one comes
 * once; what isn't taken stays within the windows.
 *
 * The packets' protection is taken away after the handshake: the decryption that ngtcp2 is given here copies. Both
 * roles are looked at.
 *
 * Input: one byte (bit 0: the server is looked at), then operations: a byte says what (see op_rows), a byte how long
 * what follows is, for those that take something.
 */
#include "src/transport/quic_version.h"

#include <stdlib.h>

static bool is_bare; /* the handshake is over */

enum { TAG_LEN = 16 };

static int fuzz_decrypt(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx,
		const uint8_t *ciphertext, size_t len, const uint8_t *nonce, size_t nonce_len, const uint8_t *aad,
		size_t aad_len)
{
	if (!is_bare) {
		return ngtcp2_crypto_decrypt_cb(dest, aead, ctx, ciphertext, len, nonce, nonce_len, aad, aad_len);
	}
	if (len < TAG_LEN) {
		return NGTCP2_ERR_DECRYPT;
	}
	memmove(dest, ciphertext, len - TAG_LEN);
	return 0;
}

static int fuzz_hp_mask(uint8_t *dest, const ngtcp2_crypto_cipher *hp, const ngtcp2_crypto_cipher_ctx *ctx,
		const uint8_t *sample)
{
	if (!is_bare) {
		return ngtcp2_crypto_hp_mask_cb(dest, hp, ctx, sample);
	}
	memset(dest, 0, NGTCP2_HP_MASKLEN);
	return 0;
}

/* The table of callbacks, with these two in it; the library's isn't linked then. */
#define ngtcp2_crypto_decrypt_cb fuzz_decrypt
#define ngtcp2_crypto_hp_mask_cb fuzz_hp_mask
#include "src/transport/quic_callbacks.c"

#include <gnutls/x509.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MS_IN_NS = 1000000, STREAMS = 1 << 16 };

static transport_identity_t *identity;

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	gnutls_x509_privkey_t key = NULL;
	gnutls_x509_crt_t crt = NULL;
	gnutls_datum_t key_pem = { 0 }, crt_pem = { 0 };
	time_t now = time(NULL);
	(void)argc, (void)argv;
	check(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&crt) == 0);
	check(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) ==
			0);
	check(gnutls_x509_crt_set_version(crt, 3) == 0 && gnutls_x509_crt_set_serial(crt, "\1", 1) == 0);
	check(gnutls_x509_crt_set_activation_time(crt, now - 1000) == 0);
	check(gnutls_x509_crt_set_expiration_time(crt, now + 86400) == 0);
	check(gnutls_x509_crt_set_key(crt, key) == 0 &&
			gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) == 0);
	check(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &crt_pem) == 0);
	check(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_pem) == 0);
	check(transport_identity_new((knot_bytes_t){ crt_pem.data, crt_pem.size },
			      (knot_bytes_t){ key_pem.data, key_pem.size }, &identity) == KNOT_OK);
	gnutls_free(crt_pem.data);
	gnutls_free(key_pem.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
	return 0;
}

/* ---- Two ends, joined ---- */

typedef struct {
	transport_t *client, *server;
	transport_t *target; /* one of them */
	uint64_t now_ns;
	uint32_t packet_number;
	bool has_ended[STREAMS]; /* by number */
	uint64_t last_stream;
} world_t;

static world_t world;

static void world_deliver(transport_t *to, knot_bytes_t datagram)
{
	knot_mut_bytes_t room = transport_room(to);
	if (room.len > 0 && room.len >= datagram.len) {
		memcpy(room.data, datagram.data, datagram.len);
		transport_note_received(to, datagram.len, world.now_ns);
	}
}

static void world_accept(knot_bytes_t datagram)
{
	transport_tls_params_t tls = { .role = TRANSPORT_SERVER, .identity = identity };
	transport_quic_params_t quic = { .idle_ms = 0 };
	if (world.server == NULL) {
		check(transport_quic_accept(&tls, &quic, datagram, world.now_ns, &world.server) == KNOT_OK);
	}
}

static bool world_move(transport_t *from, transport_t **to)
{
	knot_bytes_t datagram = from != NULL ? transport_pending(from, world.now_ns) : (knot_bytes_t){ .len = 0 };
	if (datagram.len == 0) {
		return false;
	}
	if (to == &world.server) {
		world_accept(datagram);
	}
	world_deliver(*to, datagram);
	transport_note_sent(from, datagram.len, world.now_ns);
	return true;
}

static bool world_is_open(void)
{
	return world.server != NULL && transport_state(world.client) == TRANSPORT_OPEN &&
	       transport_state(world.server) == TRANSPORT_OPEN;
}

static void world_shake(void)
{
	for (unsigned i = 0; i < 1000 && !world_is_open(); i++) {
		world.now_ns += MS_IN_NS;
		(void)world_move(world.client, &world.server);
		(void)world_move(world.server, &world.client);
	}
	check(world_is_open());
}

static void world_new(bool looks_at_server)
{
	transport_tls_params_t tls = { .role = TRANSPORT_CLIENT };
	transport_quic_params_t quic = { .idle_ms = 0 };
	is_bare = false;
	world = (world_t){ .now_ns = MS_IN_NS, .packet_number = 1000 };
	check(transport_quic_new(&tls, &quic, world.now_ns, &world.client) == KNOT_OK);
	world_shake();
	is_bare = true;
	world.target = looks_at_server ? world.server : world.client;
}

/* ---- Operations ---- */

/* Frames in a packet with a short header (RFC 9000 17.3.1), to the first connection ID that the target gave. */
static void op_frames(knot_bytes_t arg)
{
	uint8_t packet[1 + NGTCP2_MAX_CIDLEN + 4 + 256 + TAG_LEN] = { 0x43 };
	ngtcp2_cid cids[16];
	quic_t *quic = quic_of(world.target);
	if (ngtcp2_conn_get_num_scid(quic->conn) > KNOT_LEN(cids) || transport_state(world.target) == TRANSPORT_ENDED) {
		return;
	}
	ngtcp2_conn_get_scid(quic->conn, cids);
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ packet, sizeof(packet) });
	knot_write_u8(&w, 0x43);
	knot_write(&w, cids[0].data, cids[0].datalen);
	knot_write_u32(&w, world.packet_number++);
	knot_write(&w, arg.data, arg.len);
	(void)knot_write_room(&w, TAG_LEN);
	check(!w.failed);
	world_deliver(world.target, (knot_bytes_t){ packet, w.len });
}

static void op_datagram(knot_bytes_t arg)
{
	world_deliver(world.target, arg);
}

static void op_put(knot_bytes_t arg)
{
	uint64_t stream = world.last_stream;
	if (arg.len > 0 && transport_put(world.target, arg, &stream) == KNOT_OK) {
		world.last_stream = stream;
	}
}

static void op_take(knot_bytes_t arg)
{
	transport_event_t event;
	(void)arg;
	while (transport_take(world.target, &event)) {
		check(event.stream < STREAMS && !world.has_ended[event.stream]);
		check(event.kind == TRANSPORT_MESSAGE || event.kind == TRANSPORT_STREAM_END ||
				event.kind == TRANSPORT_STREAM_CUT);
		world.has_ended[event.stream] = event.kind != TRANSPORT_MESSAGE;
		world.last_stream = event.stream;
	}
}

static void op_send(knot_bytes_t arg)
{
	knot_bytes_t datagram;
	(void)arg;
	for (unsigned i = 0; i < 20 && (datagram = transport_pending(world.target, world.now_ns)).len > 0; i++) {
		check(datagram.len <= 1500);
		transport_note_sent(world.target, datagram.len, world.now_ns);
	}
}

static void op_time(knot_bytes_t arg)
{
	for (size_t i = 0; i < arg.len; i++) {
		world.now_ns += (uint64_t)arg.data[i] * arg.data[i] * MS_IN_NS / 8;
		if (transport_deadline_ns(world.target) <= world.now_ns) {
			transport_expire(world.target, world.now_ns);
		}
	}
}

static void op_cancel(knot_bytes_t arg)
{
	transport_cancel(world.target, arg.len > 0 ? arg.data[0] : world.last_stream);
}

static void op_finish(knot_bytes_t arg)
{
	(void)arg;
	transport_finish(world.target, world.last_stream);
}

static void op_ticket(knot_bytes_t arg)
{
	knot_mut_bytes_t ticket;
	transport_session_t session;
	(void)arg;
	if (transport_ticket(world.target, &ticket) == KNOT_OK) {
		free(ticket.data);
	}
	transport_describe(world.target, &session);
}

static const struct {
	void (*run)(knot_bytes_t arg);
	bool has_arg;
} op_rows[] = { { op_frames, true }, { op_put, true }, { op_take, false }, { op_send, false }, { op_time, true },
	{ op_cancel, true }, { op_finish, false }, { op_datagram, true }, { op_ticket, false } };

static void check_bounds(void)
{
	const quic_t *quic = quic_of(world.target);
	size_t kept_len = 0;
	unsigned count = 0;
	for (const quic_stream_t *stream = quic->streams; stream != NULL; stream = stream->next) {
		check(stream->in.len - stream->in.pos <= TRANSPORT_QUIC_STREAM_WINDOW);
		kept_len += stream->in.len - stream->in.pos;
		count++;
	}
	check(kept_len <= TRANSPORT_QUIC_WINDOW && count == quic->stream_count && count <= TRANSPORT_STREAMS_MAX);
	check(quic->waiting_len <= TRANSPORT_PENDING_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1) {
		return 0;
	}
	world_new((data[0] & 1) != 0);
	for (size_t pos = 1; pos < size;) {
		size_t op = data[pos++] % KNOT_LEN(op_rows);
		size_t len = op_rows[op].has_arg && pos < size ? data[pos++] : 0;
		len = len < size - pos ? len : size - pos;
		op_rows[op].run((knot_bytes_t){ data + pos, len });
		pos += len;
		check_bounds();
	}
	op_take((knot_bytes_t){ .len = 0 });
	transport_close(world.target, world.now_ns);
	check(transport_state(world.target) == TRANSPORT_ENDED);
	op_send((knot_bytes_t){ .len = 0 });
	op_take((knot_bytes_t){ .len = 0 });
	transport_free(world.client);
	transport_free(world.server);
	return 0;
}
