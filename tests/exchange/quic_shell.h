/* SPDX-License-Identifier: BSD-2-Clause */
/** What the test servers over QUIC share. */
#pragma once

#include "src/transport/tls_params.h"

/** Print what went wrong, with errno's text, and end the program. */
__attribute__((noreturn)) void quic_shell_die(const char *what);

/** The certificate and the key in two files. It ends the program if they can't be used. */
transport_identity_t *quic_shell_identity(const char *cert_path, const char *key_path);

/** A socket on a free port of an IPv4 address, which is printed on a line. */
int quic_shell_listen(const char *address_text);
