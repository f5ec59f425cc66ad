/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What differs between the versions of ngtcp2 that distributions have: 0.12 (Debian 12, Ubuntu 24.04) and 1.x (Debian
 * 13). All files that see ngtcp2 see it through this one. For this folder only.
 */
#pragma once

#include "libknot/base/bytes.h"

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

enum { QUIC_LIMITS_MAX = 256 }; /* bytes of a server's limits in a ticket */

#if NGTCP2_VERSION_NUM >= 0x010000

typedef ngtcp2_ccerr quic_error_t;

static inline quic_error_t quic_error_of_alert(uint8_t alert)
{
	quic_error_t error;
	ngtcp2_ccerr_default(&error);
	ngtcp2_ccerr_set_tls_alert(&error, alert, NULL, 0);
	return error;
}

static inline quic_error_t quic_error_of_library(int code)
{
	quic_error_t error;
	ngtcp2_ccerr_default(&error);
	ngtcp2_ccerr_set_liberr(&error, code, NULL, 0);
	return error;
}

static inline quic_error_t quic_error_of_application(uint64_t code)
{
	quic_error_t error;
	ngtcp2_ccerr_default(&error);
	ngtcp2_ccerr_set_application_error(&error, code, NULL, 0);
	return error;
}

static inline quic_error_t quic_error_of_peer(ngtcp2_conn *conn)
{
	return *ngtcp2_conn_get_ccerr(conn);
}

static inline bool quic_error_is_of_application(const quic_error_t *error)
{
	return error->type == NGTCP2_CCERR_TYPE_APPLICATION;
}

static inline int quic_conn_refuse_early(ngtcp2_conn *conn)
{
	return ngtcp2_conn_tls_early_data_rejected(conn);
}

static inline int quic_conn_shutdown_stream(ngtcp2_conn *conn, int64_t id, uint64_t code)
{
	return ngtcp2_conn_shutdown_stream(conn, 0, id, code);
}

static inline void quic_params_set_original(ngtcp2_transport_params *params, const ngtcp2_cid *cid)
{
	params->original_dcid = *cid;
	params->original_dcid_present = 1;
}

/** The server's limits that a client relies on in 0-RTT, as bytes; 0: they aren't known. */
static inline size_t quic_conn_print_limits(ngtcp2_conn *conn, uint8_t ret_limits[static QUIC_LIMITS_MAX])
{
	ngtcp2_ssize len = ngtcp2_conn_encode_0rtt_transport_params(conn, ret_limits, QUIC_LIMITS_MAX);
	return len > 0 ? (size_t)len : 0;
}

/** False: these bytes aren't limits. */
static inline bool quic_conn_scan_limits(ngtcp2_conn *conn, knot_bytes_t limits)
{
	return ngtcp2_conn_decode_and_set_0rtt_transport_params(conn, limits.data, limits.len) == 0;
}

static inline knot_bytes_t quic_head_token(const ngtcp2_pkt_hd *head)
{
	return (knot_bytes_t){ head->token, head->tokenlen };
}

static inline void quic_settings_set_qlog(ngtcp2_settings *settings, ngtcp2_qlog_write write)
{
	settings->qlog_write = write;
}

#else

typedef ngtcp2_connection_close_error quic_error_t;

static inline quic_error_t quic_error_of_alert(uint8_t alert)
{
	quic_error_t error;
	ngtcp2_connection_close_error_default(&error);
	ngtcp2_connection_close_error_set_transport_error_tls_alert(&error, alert, NULL, 0);
	return error;
}

static inline quic_error_t quic_error_of_library(int code)
{
	quic_error_t error;
	ngtcp2_connection_close_error_default(&error);
	ngtcp2_connection_close_error_set_transport_error_liberr(&error, code, NULL, 0);
	return error;
}

static inline quic_error_t quic_error_of_application(uint64_t code)
{
	quic_error_t error;
	ngtcp2_connection_close_error_default(&error);
	ngtcp2_connection_close_error_set_application_error(&error, code, NULL, 0);
	return error;
}

static inline quic_error_t quic_error_of_peer(ngtcp2_conn *conn)
{
	quic_error_t error;
	ngtcp2_conn_get_connection_close_error(conn, &error);
	return error;
}

static inline bool quic_error_is_of_application(const quic_error_t *error)
{
	return error->type == NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION;
}

static inline int quic_conn_refuse_early(ngtcp2_conn *conn)
{
	return ngtcp2_conn_early_data_rejected(conn);
}

static inline int quic_conn_shutdown_stream(ngtcp2_conn *conn, int64_t id, uint64_t code)
{
	return ngtcp2_conn_shutdown_stream(conn, id, code);
}

static inline void quic_params_set_original(ngtcp2_transport_params *params, const ngtcp2_cid *cid)
{
	params->original_dcid = *cid;
}

/* This version encodes only whole parameters, of which a client lacks some: ours are seven numbers (RFC 9000 7.4.1). */
enum { QUIC_LIMITS_COUNT = 7 };

static inline void quic_params_list(ngtcp2_transport_params *params, uint64_t *ret_list[static QUIC_LIMITS_COUNT])
{
	ret_list[0] = &params->initial_max_stream_data_bidi_local;
	ret_list[1] = &params->initial_max_stream_data_bidi_remote;
	ret_list[2] = &params->initial_max_stream_data_uni;
	ret_list[3] = &params->initial_max_data;
	ret_list[4] = &params->initial_max_streams_bidi;
	ret_list[5] = &params->initial_max_streams_uni;
	ret_list[6] = &params->active_connection_id_limit;
}

static inline size_t quic_conn_print_limits(ngtcp2_conn *conn, uint8_t ret_limits[static QUIC_LIMITS_MAX])
{
	uint64_t *list[QUIC_LIMITS_COUNT];
	const ngtcp2_transport_params *found = ngtcp2_conn_get_remote_transport_params(conn);
	if (found == NULL) {
		return 0;
	}
	ngtcp2_transport_params params = *found;
	quic_params_list(&params, list);
	for (size_t i = 0; i < QUIC_LIMITS_COUNT; i++) {
		store_be64(ret_limits + 8 * i, *list[i]);
	}
	return QUIC_LIMITS_COUNT * 8;
}

static inline bool quic_conn_scan_limits(ngtcp2_conn *conn, knot_bytes_t limits)
{
	uint64_t *list[QUIC_LIMITS_COUNT];
	ngtcp2_transport_params params;
	if (limits.len != QUIC_LIMITS_COUNT * 8) {
		return false;
	}
	memset(&params, 0, sizeof(params));
	quic_params_list(&params, list);
	for (size_t i = 0; i < QUIC_LIMITS_COUNT; i++) {
		*list[i] = load_be64(limits.data + 8 * i);
	}
	ngtcp2_conn_set_early_remote_transport_params(conn, &params);
	return true;
}

static inline knot_bytes_t quic_head_token(const ngtcp2_pkt_hd *head)
{
	return (knot_bytes_t){ head->token.base, head->token.len };
}

static inline void quic_settings_set_qlog(ngtcp2_settings *settings, ngtcp2_qlog_write write)
{
	settings->qlog.write = write;
}

#endif
