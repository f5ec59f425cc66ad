/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/exchange/quic_shell.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { FILE_MAX = 1 << 16, BUFFER_LEN = 8 << 20 };

void quic_shell_die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

transport_identity_t *quic_shell_identity(const char *cert_path, const char *key_path)
{
	static char text[2][FILE_MAX];
	const char *const paths[] = { cert_path, key_path };
	knot_bytes_t pem[2];
	transport_identity_t *identity;
	for (size_t i = 0; i < KNOT_LEN(paths); i++) {
		FILE *file = fopen(paths[i], "re");
		if (file == NULL) {
			quic_shell_die(paths[i]);
		}
		pem[i] = (knot_bytes_t){ (const uint8_t *)text[i], fread(text[i], 1, FILE_MAX, file) };
		fclose(file);
	}
	if (transport_identity_new(pem[0], pem[1], &identity) != KNOT_OK) {
		quic_shell_die("no certificate with its key");
	}
	return identity;
}

int quic_shell_listen(const char *address_text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || inet_pton(AF_INET, address_text, &address.sin_addr) != 1 ||
			bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
			getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
		quic_shell_die("bind");
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ BUFFER_LEN }, sizeof(int));
	printf("%u\n", ntohs(address.sin_port));
	(void)fflush(stdout);
	return fd;
}
