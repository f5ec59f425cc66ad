/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/xdp_plan.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static xdp_want_t *want_of(xdp_plan_t *plan, const char *ifname)
{
	for (size_t i = 0; ifname[0] != '\0' && i < plan->count; i++) {
		if (strcmp(plan->wants[i].ifname, ifname) == 0) {
			return &plan->wants[i];
		}
	}
	xdp_want_t *want = &plan->wants[plan->count++];
	snprintf(want->ifname, sizeof(want->ifname), "%s", ifname);
	return want;
}

static knot_err_t add_listen(xdp_want_t *want, const conf_xdp_listen_t *listen)
{
	if (want->listen_count == KXDP_LISTEN_MAX) {
		return KNOT_ESPACE;
	}
	kxdp_listen_t *added = &want->listens[want->listen_count++];
	added->addr = listen->addr;
	added->port = listen->port;
	size_t len = strlen(want->text);
	snprintf(want->text + len, sizeof(want->text) - len, "%s%s", len > 0 ? " " : "", listen->text);
	return KNOT_OK;
}

knot_err_t xdp_plan_make(const conf_xdp_t *conf, xdp_find_t find, xdp_plan_t *ret_plan)
{
	*ret_plan = (xdp_plan_t){ .wants = calloc(conf->listen.count + 1, sizeof(*ret_plan->wants)) };
	if (ret_plan->wants == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < conf->listen.count; i++) {
		const conf_xdp_listen_t *listen = &conf->listen.data[i];
		char ifname[IF_NAMESIZE] = "";
		kxdp_fault_t fault = { 0 };
		if (listen->ifname[0] != '\0') {
			snprintf(ifname, sizeof(ifname), "%s", listen->ifname);
		} else {
			knot_err_t err = find((const struct sockaddr *)&listen->addr, ifname, &fault);
			if (err != KNOT_OK && err != KNOT_ENODEV && err != KNOT_EPARAMCONFL) {
				return err;
			}
			ifname[0] = err == KNOT_OK ? ifname[0] : '\0';
		}
		xdp_want_t *want = want_of(ret_plan, ifname);
		want->fault = ifname[0] == '\0' ? fault : want->fault;
		want->udp = conf->udp;
		want->tcp = conf->tcp;
		want->route_check = conf->route_check;
		want->zero_copy = conf->zero_copy;
		want->ring_size = conf->ring_size;
		want->busypoll_budget = conf->busypoll_budget;
		want->busypoll_timeout_us = conf->busypoll_timeout_us;
		knot_err_t err = add_listen(want, listen);
		if (err != KNOT_OK) {
			ret_plan->count = (size_t)(want - ret_plan->wants) + 1;
			return err;
		}
	}
	return KNOT_OK;
}

void xdp_plan_done(xdp_plan_t *plan)
{
	free(plan->wants);
	*plan = (xdp_plan_t){ 0 };
}

/* ---- Comparing ---- */

static bool same_listen(const kxdp_listen_t *a, const kxdp_listen_t *b)
{
	if (a->port != b->port || a->addr.ss_family != b->addr.ss_family) {
		return false;
	}
	if (a->addr.ss_family == AF_INET) {
		return ((const struct sockaddr_in *)&a->addr)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&b->addr)->sin_addr.s_addr;
	}
	return a->addr.ss_family != AF_INET6 || IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)&a->addr)->sin6_addr,
								&((const struct sockaddr_in6 *)&b->addr)->sin6_addr);
}

bool xdp_want_meets(const xdp_want_t *a, const xdp_want_t *b)
{
	return strcmp(a->ifname, b->ifname) == 0 && (a->ifname[0] != '\0' || strcmp(a->text, b->text) == 0);
}

bool xdp_want_opens_alike(const xdp_want_t *a, const xdp_want_t *b)
{
	return a->zero_copy == b->zero_copy && a->ring_size == b->ring_size &&
	       a->busypoll_budget == b->busypoll_budget && a->busypoll_timeout_us == b->busypoll_timeout_us;
}

bool xdp_want_serves_alike(const xdp_want_t *a, const xdp_want_t *b)
{
	bool alike = a->udp == b->udp && a->tcp == b->tcp && a->route_check == b->route_check &&
		     a->listen_count == b->listen_count;
	for (size_t i = 0; alike && i < a->listen_count; i++) {
		alike = same_listen(&a->listens[i], &b->listens[i]);
	}
	return alike;
}

kxdp_config_t xdp_want_config(const xdp_want_t *want)
{
	return (kxdp_config_t){
		.listens = want->listens,
		.listen_count = want->listen_count,
		.udp = want->udp,
		.tcp = want->tcp,
		.route_check = want->route_check,
	};
}

const char *xdp_want_protocols(const xdp_want_t *want)
{
	return want->udp && want->tcp ? "UDP/TCP" : want->tcp ? "TCP" : "UDP";
}
