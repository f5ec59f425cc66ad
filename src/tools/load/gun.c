/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/gun.h"

#include "src/present/text.h"
#include "src/sys/clock.h"
#include "src/sys/thread.h"
#include "src/tools/load/inbox.h"
#include "src/tools/load/playback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
	GUN_ERROR_MAX = 1024,
	STOP_AGAIN_NS = 50000000, /* what comes sooner is the same wish: timeout(1) signals the process and its group */
	START_DELAY_NS = 20000000, /* until all threads wait */
	UDP_BATCH = 10,            /* as Knot's */
	UDP_CLIENTS = 64,
	CONNECTIONS = 1000,
	DNS_PORT = 53,
	QUIC_PORT = 853,
	SMALL_WINDOW = 1 << 14, /* with TSIG: a chain per slot */
	/* Per second and lane. From about here on a queue in copy mode sends later than the injector. */
	INJECT_RATE_MIN = 250000,
};

static bool gun_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Files of queries have a part in it, so control characters are escaped. */
static bool gun_error(const char *format, ...)
{
	va_list args;
	char line[GUN_ERROR_MAX];
	present_text_t text = { 0 };
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	present_text_foreign(&text, (knot_bytes_t){ (const uint8_t *)line, strlen(line) });
	fprintf(stderr, "error: %.*s\n", (int)text.len, text.data != NULL ? text.data : "");
	present_text_done(&text);
	return false;
}

/* ---- Addresses ---- */

static void gun_map_address(const struct sockaddr_storage *sa, uint8_t ret_addr[static 16])
{
	if (sa->ss_family == AF_INET6) {
		memcpy(ret_addr, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
	} else {
		memset(ret_addr, 0, 16);
		ret_addr[10] = ret_addr[11] = 0xFF;
		memcpy(ret_addr + 12, &((const struct sockaddr_in *)sa)->sin_addr, 4);
	}
}

static bool gun_find_target(gun_t *gun)
{
	const options_t *o = gun->options;
	char error[ROUTE_ERROR_MAX];
	const uint16_t usual_port = o->protocol == PROTOCOL_QUIC ? QUIC_PORT : DNS_PORT;
	gun->target_port = o->port != 0 ? o->port : usual_port;
	if (!route_resolve(o->target, gun->target_port, &gun->target, error)) {
		return gun_error("%s", error);
	}
	if (o->local.ss_family != AF_UNSPEC && o->local.ss_family != gun->target.ss_family) {
		return gun_error("local and remote address are of different families");
	}
	gun_map_address(&gun->target, gun->target_addr);
	return true;
}

/* Of a prefix of IPv4 neither the network's address nor the broadcast's: nobody answers them. */
static void gun_choose_addresses(gun_t *gun, gun_interface_t *interface)
{
	const options_t *o = gun->options;
	bool is_given = o->local.ss_family != AF_UNSPEC;
	gun_map_address(is_given ? &o->local : &interface->route.source, interface->base);
	gun->plan.addresses = 1;
	const int bits_max = gun->target.ss_family == AF_INET6 ? 128 : 32;
	if (!is_given || o->local_prefix < 0 || o->local_prefix == bits_max) {
		return;
	}
	unsigned bits = (unsigned)(bits_max - o->local_prefix);
	uint64_t count = bits < 32 ? (uint64_t)1 << bits : UINT64_C(1) << 32;
	uint32_t low = load_be32(interface->base + 12) & (uint32_t) ~(count - 1);
	if (bits_max == 32 && bits >= 2) {
		low++;
		count -= 2;
	}
	if (bits_max == 128) {
		/* The first address is the subnet routers' (RFC 4291 2.6.1). */
		low++;
		count--;
	}
	store_be32(interface->base + 12, low);
	/* TCP: there is a place for each connection that ports and addresses allow. */
	static const uint32_t most[] = {
		[PROTOCOL_UDP] = GUN_ADDRESSES_MAX, [PROTOCOL_TCP] = GUN_TCP_ADDRESSES_MAX, [PROTOCOL_QUIC] = 1
	};
	const uint32_t max = most[o->protocol];
	gun->plan.addresses = (uint32_t)(count < max ? count : max);
}

static bool gun_find_routes(gun_t *gun)
{
	const options_t *o = gun->options;
	char error[ROUTE_ERROR_MAX];
	size_t count = o->interface_count > 0 ? o->interface_count : 1;
	bool is_near = true;
	for (size_t i = 0; i < count; i++) {
		gun_interface_t *interface = &gun->interfaces[i];
		if (!route_find(&gun->target, o->interface_count > 0 ? o->interfaces[i] : NULL, &interface->route,
				    error)) {
			return gun_error("%s", error);
		}
		is_near &= interface->route.is_near;
		if (!o->sockets && interface->route.is_local) {
			return gun_error("'%s' is an address of this host, which AF_XDP doesn't reach, use --sockets",
					o->target);
		}
		if (!o->sockets && !route_find_path(&gun->target, o, &interface->route, error)) {
			return gun_error("%s", error);
		}
		gun_choose_addresses(gun, interface);
	}
	gun->interface_count = count;
	if (!is_near && !o->has_qps && !o->has_ramp) {
		return gun_error("'%s' isn't on this host or on a private network of its own: say how many queries per "
				 "second it is to get (-Q, --ramp)",
				o->target);
	}
	return true;
}

/* ---- What is sent ---- */

static bool gun_load_queries(gun_t *gun)
{
	const options_t *o = gun->options;
	char error[QUERIES_ERROR_MAX];
	const queries_params_t params = {
		.profile = o->profile,
		.edns_size = o->edns_size,
		.serial = o->serial,
		.always_edns = o->cookies,
		.max = UINT32_MAX,
	};
	bool is_good = o->format == QUERIES_PCAP     ? playback_load(&gun->queries, o->infile, gun->target_port,
								       o->keeps_times, error)
		       : o->format == QUERIES_BINARY ? queries_load_binary(&gun->queries, o->infile, &params, error)
						     : queries_load_text(&gun->queries, o->infile, &params, error);
	if (!is_good) {
		return gun_error("%s", error);
	}
	return gun->queries.count > 0 || gun_error("no queries in '%s'", o->infile);
}

static bool gun_make_schedule(gun_t *gun)
{
	const options_t *o = gun->options;
	schedule_t *s = &gun->plan.schedule;
	gun->pieces = calloc(SCHEDULE_PIECES_MAX, sizeof(*gun->pieces));
	if (gun->pieces == NULL) {
		return gun_error("not enough memory");
	}
	gun->duration_ns = (uint64_t)(o->duration_s * 1e9);
	size_t count = 1;
	gun->pieces[0] = (schedule_piece_t){ 0, gun->duration_ns, o->qps };
	if (o->has_ramp) {
		uint64_t step_ns = (uint64_t)(o->ramp.seconds * 1e9);
		count = schedule_ramp(o->ramp.from, o->ramp.to, o->ramp.step, step_ns, gun->pieces);
		if (count == 0 || count > 100) {
			return gun_error("the ramp has too many steps, 100 are possible");
		}
		gun->duration_ns = count * step_ns;
		gun->plan.step_ns = step_ns;
	}
	gun->plan.step_count = (unsigned)count;
	*s = (schedule_t){
		.pieces = gun->pieces,
		.piece_count = count,
		.times_ns = gun->queries.times_ns,
		.time_count = gun->queries.times_ns != NULL ? gun->queries.count : 0,
		.loop = true,
		.end_ns = gun->duration_ns,
		.batch = o->batch != 0                 ? o->batch
			 : o->protocol == PROTOCOL_UDP ? UDP_BATCH
						       : 1,
		.threads = gun->lane_count,
	};
	return true;
}

static bool gun_make_plan(gun_t *gun)
{
	const options_t *o = gun->options;
	message_plan_t *m = &gun->plan.message;
	*m = (message_plan_t){
		.queries = &gun->queries,
		.seed = o->seed,
		.profile = o->profile,
		.prefix = o->prefix,
		.cookies = o->cookies,
		.tsig = o->has_tsig ? &o->tsig : NULL,
	};
	if (o->cookies && gun->plan.addresses > 65536) {
		return gun_error("cookies are kept for 65536 local addresses at most, use a longer prefix");
	}
	pick_in_turn(&m->pick, gun->queries.count);
	if (o->zipf >= 0 && !pick_zipf(&m->pick, gun->queries.count, o->zipf, o->seed)) {
		return gun_error("not enough memory");
	}
	gun->plan.timeout_ns = (uint64_t)(o->timeout_s * 1e9);
	return true;
}

static bool gun_load_zones(gun_t *gun)
{
	const options_t *o = gun->options;
	char error[MODEL_ERROR_MAX];
	if (o->verify_count > 0 && !model_load(o->verify, o->verify_count, &gun->model, error)) {
		return gun_error("%s", error);
	}
	return true;
}

/* ---- Interfaces and queues ---- */

static bool gun_open_interface(gun_t *gun, gun_interface_t *interface)
{
	const options_t *o = gun->options;
	kxdp_listen_t listen = { .port = gun->target_port, .addr = gun->target };
	const kxdp_options_t options = {
		.ifname = interface->route.ifname,
		.config = { .listens = &listen,
				.listen_count = 1,
				.udp = o->protocol != PROTOCOL_TCP,
				.tcp = o->protocol == PROTOCOL_TCP,
				.client = true,
				.drop = o->drop },
		.zero_copy = !o->xdp_copy,
		.ring_size = KXDP_RING_DEFAULT,
		.mode = (kxdp_mode_t)o->xdp_mode,
	};
	kxdp_fault_t fault;
	if (kxdp_iface_open(gun->priv, &options, &interface->iface, &fault) != KNOT_OK) {
		return gun_error("failed to initialize XDP on %s (%s)", interface->route.ifname, fault.text);
	}
	return true;
}

static unsigned gun_count_lanes(const gun_t *gun)
{
	if (gun->options->sockets) {
		return gun->options->threads != 0 ? gun->options->threads : sys_cpu_count();
	}
	unsigned count = 0;
	for (size_t i = 0; i < gun->interface_count; i++) {
		count += kxdp_iface_queue_count(gun->interfaces[i].iface);
	}
	return count;
}

static bool gun_open_interfaces(gun_t *gun)
{
	kxdp_fault_t fault;
	const kxdp_priv_params_t params = { .ports = &gun->target_port, .port_count = 1 };
	if (kxdp_priv_start(&params, &gun->priv, &fault) != KNOT_OK) {
		return gun_error("failed to initialize XDP (%s); --sockets needs no privilege", fault.text);
	}
	for (size_t i = 0; i < gun->interface_count; i++) {
		if (!gun_open_interface(gun, &gun->interfaces[i])) {
			return false;
		}
	}
	return true;
}

static double gun_highest_rate(const gun_t *gun)
{
	double rate = 0;
	const schedule_t *s = &gun->plan.schedule;
	for (size_t i = 0; s->times_ns == NULL && i < s->piece_count; i++) {
		rate = fmax(rate, s->pieces[i].rate);
	}
	return s->times_ns != NULL ? 1e6 : rate;
}

/*
 * The injector takes all of its processor, and lets queries leave some 50 us late; so a queue that has the time sends
 * itself, and recordings go by the queue, whose rate isn't known. QUIC spends its time elsewhere.
 */
static bool gun_wants_injector(const gun_t *gun, const gun_interface_t *interface)
{
	const options_t *o = gun->options;
	if (o->inject != INJECT_WHERE_FASTER) {
		return o->inject == INJECT_ALWAYS;
	}
	return o->protocol != PROTOCOL_QUIC && gun->plan.schedule.times_ns == NULL &&
	       gun_highest_rate(gun) / gun->lane_count > INJECT_RATE_MIN && kxdp_iface_copies(interface->iface) &&
	       kxdp_injector_is_ready(interface->route.ifindex);
}

const char *gun_mode_text(const gun_t *gun)
{
	return gun->lanes[0].injector != NULL ? "native/inject" : kxdp_iface_mode_text(gun->interfaces[0].iface);
}

static bool gun_open_injector(gun_t *gun, lane_t *lane)
{
	const route_t *route = &gun->interfaces[lane->interface].route;
	kxdp_fault_t fault;
	bool is_open = kxdp_injector_open(route->ifindex, route->ifname, &lane->injector, &fault) == KNOT_OK;
	return is_open || gun->options->inject == INJECT_WHERE_FASTER ||
	       gun_error("failed to open the injector of %s (%s)", route->ifname, fault.text);
}

/* Which interface and queue a lane has. */
static bool gun_open_queue(gun_t *gun, lane_t *lane)
{
	unsigned queue = lane->index;
	while (queue >= kxdp_iface_queue_count(gun->interfaces[lane->interface].iface)) {
		queue -= kxdp_iface_queue_count(gun->interfaces[lane->interface].iface);
		lane->interface++;
	}
	const gun_interface_t *interface = &gun->interfaces[lane->interface];
	kxdp_fault_t fault;
	if (kxdp_queue_open(interface->iface, queue, &lane->queue, &fault) != KNOT_OK) {
		return gun_error("failed to open queue %u of %s (%s)", queue, interface->route.ifname, fault.text);
	}
	return !gun_wants_injector(gun, interface) || gun_open_injector(gun, lane);
}

/* ---- Lanes ---- */

static bool gun_init_lane(gun_t *gun, lane_t *lane)
{
	const options_t *o = gun->options;
	uint32_t ports = 1;
	uint32_t available = o->sockets ? gun->clients : (uint32_t)(GUN_PORTS / gun->lane_count);
	uint64_t window =
			flight_window(gun_highest_rate(gun) / gun->lane_count, gun->plan.timeout_ns, available, &ports);
	/* Over sockets every socket is used, whatever the window: a power of two that there are ids for. */
	ports = o->sockets ? available : ports;
	while (o->sockets && (uint64_t)ports * 65536 % window != 0) {
		window /= 2;
	}
	window = o->has_tsig && window > SMALL_WINDOW ? SMALL_WINDOW : window;
	const worker_params_t params = {
		.thread = lane->index,
		.window = window,
		.ports = ports,
		.shared = gun->lane_count > 1 && !o->sockets && o->protocol == PROTOCOL_UDP,
		.zero_ids = o->protocol == PROTOCOL_QUIC,
		.first = 1 + (uint32_t)hash_number(sys_clock_ns()),
	};
	if (!worker_init(&lane->worker, &gun->plan, &params)) {
		return gun_error("not enough memory");
	}
	if (gun->model != NULL) {
		lane->worker.judge =
				judge_new(gun->model, &gun->queries, o->prefix != NULL, lane->index, o->verify_show);
		if (lane->worker.judge == NULL) {
			return gun_error("not enough memory");
		}
	}
	return o->sockets || gun_open_queue(gun, lane);
}

static bool gun_make_lanes(gun_t *gun)
{
	const options_t *o = gun->options;
	gun->lane_count = gun_count_lanes(gun);
	gun->clients = o->clients != 0 ? o->clients : o->protocol == PROTOCOL_UDP ? UDP_CLIENTS : CONNECTIONS;
	if (gun->lane_count > GUN_LANES_MAX) {
		return gun_error("%u queues, %d are possible", gun->lane_count, GUN_LANES_MAX);
	}
	gun->lanes = calloc(gun->lane_count, sizeof(*gun->lanes));
	if (gun->lanes == NULL || !gun_make_schedule(gun) || !gun_make_plan(gun)) {
		return gun->lanes == NULL ? gun_error("not enough memory") : false;
	}
	bool needs_inbox = gun->lane_count > 1 && !o->sockets && o->protocol != PROTOCOL_UDP;
	for (unsigned i = 0; i < gun->lane_count; i++) {
		lane_t *lane = &gun->lanes[i];
		*lane = (lane_t){ .gun = gun, .index = i };
		if (needs_inbox && (lane->inbox = inbox_new()) == NULL) {
			return gun_error("can't prepare a thread (%s)", strerror(errno));
		}
		if (!gun_init_lane(gun, lane)) {
			return false;
		}
	}
	return true;
}

bool gun_open(gun_t *gun, const options_t *options)
{
	*gun = (gun_t){ .options = options };
	return gun_find_target(gun) && gun_load_queries(gun) && gun_load_zones(gun) && gun_find_routes(gun) &&
	       (options->sockets || gun_open_interfaces(gun)) && gun_make_lanes(gun);
}

/* ---- Running ---- */

static void gun_pin(const lane_t *lane)
{
	const options_t *o = lane->gun->options;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	unsigned cpu = o->cpu_start + lane->index * o->cpu_step;
	/* As Knot: by default each queue has a processor of its own. Sockets go where the system lets them. */
	if (o->sockets && !o->has_affinity) {
		return;
	}
	CPU_SET(cpu % sys_cpu_count(), &cpus);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

static void *gun_run_lane(void *arg)
{
	lane_t *lane = arg;
	const gun_t *gun = lane->gun;
	gun_pin(lane);
	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
	uint64_t now_ns = sys_clock_ns();
	while (now_ns < gun->start_ns) {
		(void)nanosleep(&(struct timespec){ .tv_nsec = (long)((gun->start_ns - now_ns) % 1000000000) }, NULL);
		now_ns = sys_clock_ns();
	}
	static void (*const runs[2][3])(lane_t *) = {
		{ [PROTOCOL_UDP] = xdp_udp_run, [PROTOCOL_TCP] = xdp_tcp_run, [PROTOCOL_QUIC] = xdp_quic_run },
		{ [PROTOCOL_UDP] = socket_udp_run, [PROTOCOL_TCP] = socket_tcp_run, [PROTOCOL_QUIC] = socket_quic_run },
	};
	runs[gun->options->sockets][gun->options->protocol](lane);
	__atomic_store_n(&lane->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

bool gun_start(gun_t *gun)
{
	gun->start_ns = sys_clock_ns() + START_DELAY_NS;
	struct timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);
	gun->start_wall_ns = (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec + START_DELAY_NS;
	/* Signals are the main thread's. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int errnum = 0;
	for (unsigned i = 0; i < gun->lane_count; i++) {
		lane_t *lane = &gun->lanes[i];
		errnum = errnum != 0 ? errnum : pthread_create(&lane->thread, NULL, gun_run_lane, lane);
		lane->is_started = errnum == 0;
		if (errnum != 0) {
			__atomic_store_n(&lane->is_over, true, __ATOMIC_RELEASE);
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum != 0) {
		gun_stop(gun);
		__atomic_store_n(&gun->ends, true, __ATOMIC_RELAXED);
		return gun_error("can't start a thread (%s)", strerror(errnum));
	}
	return true;
}

void gun_stop(gun_t *gun)
{
	if (!__atomic_exchange_n(&gun->stop, true, __ATOMIC_RELAXED)) {
		gun->stopped_ns = sys_clock_ns();
	} else if (sys_clock_ns() - gun->stopped_ns >= STOP_AGAIN_NS) {
		__atomic_store_n(&gun->ends, true, __ATOMIC_RELAXED);
	}
}

bool gun_is_over(const gun_t *gun)
{
	for (unsigned i = 0; i < gun->lane_count; i++) {
		if (gun->lanes[i].is_started && !__atomic_load_n(&gun->lanes[i].is_over, __ATOMIC_ACQUIRE)) {
			return false;
		}
	}
	return true;
}

void gun_join(gun_t *gun)
{
	for (unsigned i = 0; i < gun->lane_count; i++) {
		if (gun->lanes[i].is_started) {
			pthread_join(gun->lanes[i].thread, NULL);
			gun->lanes[i].is_started = false;
		}
	}
}

void gun_close(gun_t *gun)
{
	gun_stop(gun);
	gun_join(gun);
	for (unsigned i = 0; gun->lanes != NULL && i < gun->lane_count; i++) {
		kxdp_queue_close(gun->lanes[i].queue);
		kxdp_injector_close(gun->lanes[i].injector);
		inbox_free(gun->lanes[i].inbox);
		judge_free(gun->lanes[i].worker.judge);
		worker_done(&gun->lanes[i].worker);
	}
	for (size_t i = 0; i < OPTIONS_INTERFACES_MAX; i++) {
		kxdp_iface_close(gun->interfaces[i].iface);
	}
	kxdp_priv_stop(gun->priv);
	pick_done(&gun->plan.message.pick);
	queries_free(&gun->queries);
	model_free(gun->model);
	free(gun->pieces);
	free(gun->lanes);
}
