/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * knotd: options, and the order in which the server starts and stops. Everything else is in the folders below.
 *
 * Start: configuration, log, privileged helper, pid file, sockets, user switch, zones in the background, control
 * sockets, ready, answering as soon as each zone was tried once (at once with server.async-start). Stop is the same in
 * reverse. One thread takes the signals: this one.
 */
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libknot/base/number.h"
#include "libdnssec/clear.h"
#include "src/conf/version.h"
#include "src/control/control.h"
#include "src/event/server.h"
#include "src/event/zone_update.h"
#include "src/net/net.h"
#include "src/sys/clock.h"
#include "src/sys/dbus.h"
#include "src/sys/file.h"
#include "src/sys/log.h"
#include "src/sys/process.h"
#include "xdp/priv.h"

typedef struct {
	const char *conf_path; /* file, or folder of the database; absolute once options were read */
	bool has_conf;         /* a file was given */
	bool is_db;            /* it is a database */
	unsigned db_size_mib;
	const char *socket;     /* NULL: as configured */
	const char *daemon_dir; /* NULL: foreground */
	const char *start_dir;  /* where a daemon was started, to which paths are relative; NULL: where it stays */
	bool verbose;
	char **argv;
} options_t;

enum { CONTROL_SOCKETS_MAX = 4 }; /* the schema's limit of control.listen */

/** What was started, in this order. */
typedef struct {
	const options_t *options;
	conf_host_t host;
	conf_t *conf;  /* until the server owns it */
	conf_db_t *db; /* NULL: the configuration is a file */
	uint64_t db_version;
	uid_t uid;
	gid_t gid;
	sys_pidfile_t pidfile;
	kxdp_priv_t *priv; /* NULL: there are no privileges to keep */
	net_t *net;
	server_t *server;
	control_t *control;
	char *sockets[CONTROL_SOCKETS_MAX]; /* owned: paths of the control sockets, which outlive the configuration */
	size_t socket_count;
	int signal_fd;
	bool answering;
	bool is_announced;    /* D-Bus: all zones had contents once */
	uint64_t loading_ms;  /* sys_clock_ms() when zones began to load; 0: what came of it was logged */
	uint64_t watchdog_ms; /* between two signs of life; 0: no service manager waits for them */
	uint64_t alive_ms;    /* sys_clock_ms() of the last one */
} knotd_t;

/* ---- Options ---- */

static void knotd_print_help(FILE *out)
{
	fprintf(out,
			"Usage: knotd [parameters]\n"
			"\n"
			"Parameters:\n"
			" -c, --config <file>        Use a textual configuration file.\n"
			"                             (default %s)\n"
			" -C, --confdb <dir>         Use a binary configuration database directory.\n"
			"                             (default %s)\n"
			" -m, --max-conf-size <MiB>  Set maximum size of the configuration database (max %d MiB).\n"
			"                             (default %d MiB)\n"
			" -s, --socket <path>        Use a remote control UNIX socket path.\n"
			"                             (default %s)\n"
			" -d, --daemonize=[dir]      Run the server as a daemon (with new root directory).\n"
			" -v, --verbose              Enable debug output.\n"
			" -h, --help                 Print the program help.\n"
			" -V, --version              Print the program version.\n",
			conf_default_path(), conf_db_default_path(), CONF_DB_SIZE_MAX, CONF_DB_SIZE_DEFAULT,
			KNOT_RUN_DIR "/knot.sock");
}

/* 0: not a size. */
static unsigned knotd_scan_conf_size(const char *text)
{
	uint64_t size;
	return knot_number_of(text, 1, CONF_DB_SIZE_MAX, &size) ? (unsigned)size : 0;
}

static bool knotd_print_fault(const char *text, const char *what)
{
	fprintf(stderr, "error: %s%s%s\n", text, what != NULL ? " " : "", what != NULL ? what : "");
	return false;
}

/* Without an option: the default database if there is one, else the default file. */
static void knotd_choose_conf(options_t *options)
{
	if (options->conf_path == NULL) {
		options->is_db = conf_db_exists(conf_db_default_path());
		options->conf_path = options->is_db ? conf_db_default_path() : conf_default_path();
	}
}

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_BAD } options_verdict_t;

static options_verdict_t knotd_read_options(int argc, char **argv, options_t *ret_options)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "confdb", required_argument, NULL, 'C' },
		{ "max-conf-size", required_argument, NULL, 'm' },
		{ "socket", required_argument, NULL, 's' },
		{ "daemonize", optional_argument, NULL, 'd' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	options_t options = { .db_size_mib = CONF_DB_SIZE_DEFAULT };
	int c;
	while ((c = getopt_long(argc, argv, "c:C:m:s:dvhV::", known, NULL)) != -1) {
		switch (c) {
		case 'c':
			options.conf_path = optarg;
			options.has_conf = true;
			break;
		case 'C':
			options.conf_path = optarg;
			options.is_db = true;
			break;
		case 'm':
			options.db_size_mib = knotd_scan_conf_size(optarg);
			if (options.db_size_mib == 0) {
				knotd_print_fault("invalid configuration database size", optarg);
				return OPTIONS_BAD;
			}
			break;
		case 's': options.socket = optarg; break;
		case 'd': options.daemon_dir = optarg != NULL ? optarg : "/"; break;
		case 'v': options.verbose = true; break;
		case 'h': knotd_print_help(stdout); return OPTIONS_DONE;
		case 'V': conf_version_print("knotd", optarg != NULL); return OPTIONS_DONE;
		default: knotd_print_help(stderr); return OPTIONS_BAD;
		}
	}
	if (optind < argc) {
		knotd_print_fault("unexpected argument", argv[optind]);
		knotd_print_help(stderr);
		return OPTIONS_BAD;
	}
	if (options.has_conf && options.is_db) {
		knotd_print_fault("a configuration is either a file or a database, give one of --config and --confdb",
				NULL);
		return OPTIONS_BAD;
	}
	knotd_choose_conf(&options);
	*ret_options = options;
	return OPTIONS_RUN;
}

/* ---- Start ---- */

static knot_err_t knotd_read_conf(knotd_t *knotd)
{
	const options_t *options = knotd->options;
	if (!options->is_db) {
		return conf_load(options->conf_path, &knotd->host, server_conf_sink(), &knotd->conf);
	}
	knot_err_t err = conf_db_open(options->conf_path, options->db_size_mib, true, server_conf_sink(), &knotd->db);
	return err == KNOT_OK ? server_read_conf_db(knotd->db, &knotd->host, &knotd->db_version, &knotd->conf) : err;
}

static bool knotd_load_conf(knotd_t *knotd)
{
	const options_t *options = knotd->options;
	const char *path = options->conf_path;
	knotd->host = conf_host();
	knotd->host.version = PACKAGE_STRING;
	knotd->host.directory = options->start_dir;
	knot_err_t err = knotd_read_conf(knotd);
	if (err != KNOT_OK) {
		log_server(LOG_CRIT, "failed to load configuration %s '%s' (%s)", options->is_db ? "database" : "file",
				path, knot_strerror(err));
		return false;
	}
	char fault[CONF_USER_FAULT_MAX];
	if (conf_user(knotd->conf, &knotd->uid, &knotd->gid, fault) != KNOT_OK) {
		log_server(LOG_CRIT, "%s", fault);
		return false;
	}
	(void)server_open_logs(knotd->conf, knotd->uid, knotd->gid);
	log_server(LOG_INFO, "%s starting", PACKAGE_STRING);
	/* The size is that of a database, whose place a file takes; Knot writes it of both. */
	log_server(LOG_INFO, "loaded configuration %s '%s', mapsize %u MiB", options->is_db ? "database" : "file", path,
			options->db_size_mib);
	return true;
}

static bool knotd_hold_pidfile(knotd_t *knotd)
{
	enum { PIDFILE_WAIT_MS = 1000, PIDFILE_POLL_MS = 50 };
	const char *path = knotd->conf->server.pidfile;
	pid_t other = 0;
	bool stale = false;
	knot_err_t err;
	/* A server that was killed takes a moment to give its memory back; its file is locked until then. */
	for (unsigned waited_ms = 0;; waited_ms += PIDFILE_POLL_MS) {
		err = sys_pidfile_create(path, knotd->uid, knotd->gid, &knotd->pidfile, &other, &stale);
		if (err != KNOT_EBUSY || waited_ms >= PIDFILE_WAIT_MS) {
			break;
		}
		sys_clock_sleep_ns(PIDFILE_POLL_MS * UINT64_C(1000000));
	}
	if (err == KNOT_EBUSY) {
		log_server(LOG_CRIT, "server PID found, already running, PID %d, file '%s'", (int)other, path);
		return false;
	}
	if (err != KNOT_OK) {
		const char *reason = sys_file_strerror(path, err);
		bool is_folder_missing = err == KNOT_ENOENT && reason == knot_strerror(err); /* and it is no link */
		log_server(LOG_CRIT, "failed to create a PID file '%s' (%s)%s", path, reason,
				is_folder_missing ? ", create its folder, owned by the server's user" : "");
		return false;
	}
	if (stale) {
		log_server(LOG_WARNING, "removing stale PID file '%s'", path);
	}
	return true;
}

/* 0: not an IP address. */
static uint16_t knotd_read_port(const struct sockaddr_storage *ss)
{
	switch (ss->ss_family) {
	case AF_INET: return ntohs(((const struct sockaddr_in *)ss)->sin_port);
	case AF_INET6: return ntohs(((const struct sockaddr_in6 *)ss)->sin6_port);
	default: return 0;
	}
}

/* The ports of the configuration, some of them twice. NULL: not enough memory. */
static uint16_t *knotd_list_ports(const conf_t *conf, size_t *ret_count)
{
	const conf_addrs_t *listen = &conf->server.listen;
	size_t count = 0;
	uint16_t *ports = calloc(listen->count + conf->xdp.listen.count + 1, sizeof(*ports));
	for (size_t i = 0; ports != NULL && i < listen->count; i++) {
		ports[count++] = knotd_read_port(&listen->data[i].ss);
	}
	for (size_t i = 0; ports != NULL && i < conf->xdp.listen.count; i++) {
		ports[count++] = conf->xdp.listen.data[i].port;
	}
	*ret_count = count;
	return ports;
}

/* The process that keeps the privileges, for changes while the server runs. Without it, or if it can't be had, the
 * server works; what needs a privilege says so. */
static void knotd_start_helper(knotd_t *knotd)
{
	kxdp_priv_params_t params = { .argv = knotd->options->argv, .detached = knotd->options->daemon_dir != NULL };
	uint16_t *ports = knotd_list_ports(knotd->conf, &params.port_count);
	params.ports = ports;
	kxdp_fault_t fault;
	knot_err_t err = kxdp_priv_start(&params, &knotd->priv, &fault);
	free(ports);
	if (err != KNOT_OK && err != KNOT_EPERM) {
		log_server(LOG_WARNING, "failed to start the privileged helper (%s)", fault.text);
	}
}

static bool knotd_become_user(const knotd_t *knotd)
{
	if (knotd->gid != getegid()) {
		log_server(LOG_INFO, "changing GID to %u", (unsigned)knotd->gid);
	}
	if (knotd->uid != geteuid()) {
		log_server(LOG_INFO, "changing UID to %u", (unsigned)knotd->uid);
	}
	/* Sockets are bound and XDP is set up; what comes later and needs a privilege is the helper's. */
	knot_err_t err = sys_drop_privileges(knotd->uid, knotd->gid);
	if (err != KNOT_OK) {
		log_server(LOG_CRIT, "failed to drop privileges (%s)", knot_strerror(err));
	}
	return err == KNOT_OK;
}

static bool knotd_make_server(knotd_t *knotd)
{
	server_params_t params = {
		.conf_path = knotd->options->conf_path,
		.db = knotd->db,
		.db_version = knotd->db_version,
		.host = &knotd->host,
		.uid = knotd->uid,
		.gid = knotd->gid,
	};
	knot_err_t err = server_new(knotd->conf, &params, &knotd->server);
	if (err == KNOT_OK) {
		knotd->conf = NULL;
		err = server_start(knotd->server);
	}
	if (err != KNOT_OK) {
		log_server(LOG_CRIT, "failed to start server (%s)", knot_strerror(err));
	}
	return err == KNOT_OK;
}

static bool knotd_copy_sockets(knotd_t *knotd, conf_strs_t listen)
{
	for (size_t i = 0; i < listen.count && i < CONTROL_SOCKETS_MAX; i++) {
		knotd->sockets[i] = strdup(listen.data[i]);
		if (knotd->sockets[i] == NULL) {
			log_server(LOG_CRIT, "failed to start control (%s)", knot_strerror(KNOT_ENOMEM));
			return false;
		}
		knotd->socket_count++;
	}
	return true;
}

static bool knotd_make_control(knotd_t *knotd, const conf_control_t *conf)
{
	conf_strs_t listen = conf->listen;
	if (knotd->options->socket != NULL) {
		listen = (conf_strs_t){ &knotd->options->socket, 1 };
	}
	if (listen.count == 0) {
		log_server(LOG_WARNING, "no control socket configured");
	}
	if (!knotd_copy_sockets(knotd, listen)) {
		return false;
	}
	control_params_t params = {
		.server = knotd->server,
		.net = knotd->net,
		.backlog = conf->backlog,
		.uid = knotd->uid,
		.gid = knotd->gid,
		.listen = { (const char *const *)knotd->sockets, knotd->socket_count },
	};
	return control_new(&params, &knotd->control) == KNOT_OK && control_start(knotd->control) == KNOT_OK;
}

static bool knotd_start_all(knotd_t *knotd)
{
	if (!knotd_load_conf(knotd)) {
		return false;
	}
	knotd_start_helper(knotd);
	if (!knotd_hold_pidfile(knotd)) {
		return false;
	}
	if (net_new(knotd->conf, knotd->priv, &knotd->net) != KNOT_OK) {
		log_server(LOG_CRIT, "failed to configure server"); /* the reason was logged */
		return false;
	}
	if (!knotd_become_user(knotd)) {
		return false;
	}
	/* As the user that may own the name, and before the first zone is loaded. */
	_Static_assert((int)SYS_DBUS_RUNNING == 1 << CONF_DBUS_RUNNING &&
					(int)SYS_DBUS_ZONE_UPDATED == 1 << CONF_DBUS_ZONE_UPDATED &&
					(int)SYS_DBUS_EXTERNAL_VERIFY == 1 << CONF_DBUS_EXTERNAL_VERIFY &&
					(int)SYS_DBUS_KEYS_UPDATED == 1 << CONF_DBUS_KEYS_UPDATED &&
					(int)SYS_DBUS_KSK_SUBMISSION == 1 << CONF_DBUS_KSK_SUBMISSION &&
					(int)SYS_DBUS_DNSSEC_INVALID == 1 << CONF_DBUS_DNSSEC_INVALID,
			"bits");
	sys_dbus_open(knotd->conf->server.dbus_events.bits & SYS_DBUS_ALL, knotd->conf->server.dbus_init_delay_s);
	/* The server takes the configuration over; no reload frees it before control threads run. */
	const conf_control_t control = knotd->conf->control;
	if (!knotd_make_server(knotd)) {
		return false;
	}
	knotd->loading_ms = sys_clock_ms();
	server_load_zones(knotd->server);
	if (!knotd_make_control(knotd, &control)) {
		return false;
	}
	log_server(LOG_INFO, "starting server %s, PID %d",
			knotd->options->daemon_dir != NULL ? "as a daemon" : "in the foreground", (int)getpid());
	sys_notify_ready();
	sys_daemon_ready();
	return true;
}

/* ---- Running ---- */

static bool knotd_start_answering(knotd_t *knotd)
{
	net_set_transfers(knotd->net, server_transfers(knotd->server));
	if (net_start(knotd->net, server_state(knotd->server), server_update_sink(knotd->server)) != KNOT_OK) {
		return false;
	}
	knotd->answering = true;
	log_server(LOG_INFO, "server started answering");
	return true;
}

static bool knotd_must_answer(const knotd_t *knotd)
{
	bool is_loading = server_is_loading(knotd->server); /* takes a lock: not in the read section */
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(server_state(knotd->server), guard);
	return state->conf->server.async_start || !is_loading;
}

/* False: stop. */
static bool knotd_handle_signal(knotd_t *knotd, uint32_t number)
{
	switch (number) {
	case SIGHUP:
		if (server_reload(knotd->server) == KNOT_OK) {
			(void)net_reconfigure(knotd->net); /* what failed was logged; the configuration is in force */
			control_conf_changed(knotd->control);
		}
		return true;
	case SIGUSR1: server_reload_zones(knotd->server); return true;
	default: return false;
	}
}

/* One line for all zones, once each was loaded or tried. */
static void knotd_log_loaded(knotd_t *knotd)
{
	if (knotd->loading_ms == 0 || server_is_loading(knotd->server)) {
		return;
	}
	server_counts_t counts = server_counts(knotd->server);
	size_t served = counts.origins[SERVER_ORIGIN_FILE] + counts.origins[SERVER_ORIGIN_IMAGE];
	double seconds = (double)(sys_clock_ms() - knotd->loading_ms) / 1000;
	if (served + counts.origins[SERVER_ORIGIN_NONE] > 0) {
		log_server(LOG_INFO, "loaded %zu zones in %.1f s, %zu failed", served, seconds, counts.failed);
	}
	knotd->loading_ms = 0;
	server_note_loaded(knotd->server);
}

/* Once: all zones have contents. */
static void knotd_announce_start(knotd_t *knotd)
{
	if (knotd->is_announced || !sys_dbus_has(SYS_DBUS_RUNNING) || knotd->loading_ms != 0) {
		return;
	}
	knotd->is_announced = server_counts(knotd->server).origins[SERVER_ORIGIN_NONE] == 0;
	if (knotd->is_announced) {
		sys_dbus_started();
	}
}

/* What `systemctl status` shows. */
static void knotd_notify_status(knotd_t *knotd)
{
	if (!sys_notify_is_heard()) {
		return;
	}
	server_counts_t counts = server_counts(knotd->server);
	size_t served = counts.origins[SERVER_ORIGIN_FILE] + counts.origins[SERVER_ORIGIN_IMAGE];
	size_t total = served + counts.origins[SERVER_ORIGIN_NONE];
	char text[128];
	if (knotd->loading_ms != 0) {
		snprintf(text, sizeof(text), "loading: %zu of %zu zones are served", served, total);
	} else {
		snprintf(text, sizeof(text), "%zu zones, %zu failed, %u XDP queues", total, counts.failed,
				net_workers(knotd->net).xdp);
	}
	sys_notify_status(text);
}

/*
 * A sign of life for the watchdog. This thread moves, or it weren't here; zones' work isn't stuck with its lock held,
 * or server_is_loading() had not returned in this round; and each worker has ended the batch that it was at: a grace
 * period waits for all of them. A thread that is stuck keeps this from being sent, and the service manager restarts the
 * server.
 */
static void knotd_notify_alive(knotd_t *knotd)
{
	uint64_t now_ms = sys_clock_ms();
	if (knotd->watchdog_ms == 0 || now_ms - knotd->alive_ms < knotd->watchdog_ms) {
		return;
	}
	(void)server_is_loading(knotd->server);
	sys_rcu_wait();
	sys_notify_alive();
	knotd->alive_ms = now_ms;
}

/* Milliseconds that the main loop may sleep. */
static int knotd_sleep_ms(const knotd_t *knotd)
{
	enum {
		LOADING_POLL_MS = 20,
		ANNOUNCE_POLL_MS = 200,
		REPEATS_POLL_MS = 5000
	}; /* a reload may end the loading, too */
	uint64_t ms = knotd->answering && knotd->loading_ms == 0 ? REPEATS_POLL_MS : LOADING_POLL_MS;
	if (sys_dbus_has(SYS_DBUS_RUNNING) && !knotd->is_announced && ms > ANNOUNCE_POLL_MS) {
		ms = ANNOUNCE_POLL_MS; /* the last zone may get its contents at any time */
	}
	return (int)(knotd->watchdog_ms != 0 && knotd->watchdog_ms / 2 < ms ? knotd->watchdog_ms / 2 + 1 : ms);
}

/* Returns the exit status. */
static int knotd_run_loop(knotd_t *knotd)
{
	enum { STATUS_MS = 1000 };
	uint64_t status_ms = 0;
	knotd->watchdog_ms = sys_watchdog_interval_ms();
	for (;;) {
		sys_pulse_beat();
		knotd_notify_alive(knotd);
		knotd_log_loaded(knotd);
		knotd_announce_start(knotd);
		sys_dbus_process();
		server_look_at_clock(knotd->server);
		server_look_for_stalls(knotd->server);
		sys_log_tell_repeats(false);
		if (!knotd->answering && knotd_must_answer(knotd) && !knotd_start_answering(knotd)) {
			return EXIT_FAILURE;
		}
		if (sys_clock_ms() - status_ms >= STATUS_MS) {
			knotd_notify_status(knotd);
			status_ms = sys_clock_ms();
		}
		struct pollfd ready[] = {
			{ .fd = knotd->signal_fd, .events = POLLIN },
			{ .fd = knotd->answering ? -1 : server_loaded_fd(knotd->server), .events = POLLIN },
			{ .fd = sys_dbus_fd(), .events = POLLIN },
		};
		int count = poll(ready, KNOT_LEN(ready), knotd_sleep_ms(knotd));
		if (count > 0 && ready[1].revents != 0) {
			eventfd_t jobs;
			(void)eventfd_read(ready[1].fd,
					&jobs); /* or poll() comes back at once when a reload added zones meanwhile */
		}
		if (count <= 0 || ready[0].revents == 0) {
			continue;
		}
		struct signalfd_siginfo info;
		if (read(knotd->signal_fd, &info, sizeof(info)) == sizeof(info) &&
				!knotd_handle_signal(knotd, info.ssi_signo)) {
			return EXIT_SUCCESS;
		}
	}
}

/* ---- Stop ---- */

static void knotd_exit_at_once(int number)
{
	(void)number;
	_exit(EXIT_FAILURE);
}

/* From now on the next SIGTERM or SIGINT ends the process, whatever hangs. */
static void knotd_arm_second_signal(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	struct sigaction action = { .sa_handler = knotd_exit_at_once };
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void knotd_stop_all(knotd_t *knotd)
{
	knotd_arm_second_signal();
	if (knotd->server != NULL) {
		server_stop(knotd->server); /* ends what control threads may be waiting for */
	}
	if (knotd->control != NULL) {
		control_stop(knotd->control);
	}
	if (knotd->net != NULL) {
		net_stop(knotd->net);
	}
	control_free(knotd->control);
	for (size_t i = 0; i < knotd->socket_count; i++) {
		free(knotd->sockets[i]);
	}
	net_free(knotd->net);
	kxdp_priv_stop(knotd->priv);
	server_free(knotd->server);
	sys_dbus_close();
	conf_free(knotd->conf);
	conf_db_close(knotd->db);
	sys_pidfile_remove(&knotd->pidfile);
}

static int knotd_take_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit of files' sizes fails a write, as a full disk does */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int knotd_serve_until_signal(const options_t *options)
{
	knotd_t knotd = { .options = options, .pidfile = { .fd = -1 }, .signal_fd = knotd_take_signals() };
	if (knotd.signal_fd < 0) {
		log_server(LOG_CRIT, "failed to take signals (%s)", knot_strerror(knot_err_of_errno(errno)));
		return EXIT_FAILURE;
	}
	sys_rcu_register();
	int status = EXIT_FAILURE;
	if (knotd_start_all(&knotd)) {
		status = knotd_run_loop(&knotd);
		log_server(LOG_INFO, "stopping server");
		sys_notify_stopping();
		sys_dbus_stopped();
	}
	bool started = knotd.server != NULL;
	knotd_stop_all(&knotd);
	sys_log_tell_repeats(true);
	if (started) {
		log_server(LOG_INFO, "shutting down");
	}
	sys_rcu_unregister();
	close(knotd.signal_fd);
	return status;
}

/* A database that isn't there yet has no real path. False: leave it as it is. */
static bool knotd_make_absolute(const char *path, char ret_path[static PATH_MAX])
{
	char folder[PATH_MAX];
	if (realpath(path, ret_path) != NULL) {
		return true;
	}
	return path[0] != '/' && getcwd(folder, sizeof(folder)) != NULL &&
	       snprintf(ret_path, PATH_MAX, "%s/%s", folder, path) < PATH_MAX;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	umask(S_IROTH | S_IWOTH | S_IXOTH);
	bool is_cleared = dnssec_clear_freed_memory();
	assert(is_cleared); /* nothing has called OpenSSL yet */
	(void)is_cleared;
	sys_memory_init();
	options_t options;
	switch (knotd_read_options(argc, argv, &options)) {
	case OPTIONS_RUN: break;
	case OPTIONS_DONE: return sys_file_end_output() ? EXIT_SUCCESS : EXIT_FAILURE;
	case OPTIONS_BAD: return EXIT_FAILURE;
	}
	options.argv = argv;
	sys_log_init(options.verbose);
	/* A daemon reads and writes the same files whatever its working directory is by then. */
	char path[PATH_MAX], socket[PATH_MAX], folder[PATH_MAX];
	if (options.daemon_dir != NULL) {
		options.conf_path = knotd_make_absolute(options.conf_path, path) ? path : options.conf_path;
		options.start_dir = getcwd(folder, sizeof(folder));
	}
	if (options.daemon_dir != NULL && options.socket != NULL && knotd_make_absolute(options.socket, socket)) {
		options.socket = socket;
	}
	if (options.daemon_dir != NULL) {
		knot_err_t err = sys_daemonize(options.daemon_dir);
		if (err != KNOT_OK) {
			log_server(LOG_CRIT, "failed to daemonize in '%s' (%s)", options.daemon_dir,
					knot_strerror(err));
			return EXIT_FAILURE;
		}
	}
	int status = knotd_serve_until_signal(&options);
	sys_log_close();
	return status;
}
