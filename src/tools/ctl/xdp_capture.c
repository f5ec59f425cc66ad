/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * xdp-capture: requests frames from the server repeatedly and writes them as pcapng.
 *
 * The expression is compiled here, by libpcap, which may look up names for it; the server gets the program only.
 * Requests and units: doc/formats/xdp-control.md.
 */
#include "src/tools/ctl/knotc.h"

#include "libknot/base/encode.h"
#include "libknot/base/number.h"
#include "src/sys/clock.h"
#include "src/tools/ctl/message.h"
#include "src/tools/ctl/pcapng.h"

#include <inttypes.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SKF_NET_OFF (-0x100000) /* <linux/filter.h>, which has names of libpcap's */

enum {
	SNAPLEN_MAX = 262144, /* as tcpdump's; also written into the file when all bytes are kept */
	INTERFACES_MAX = 64,
	FRAME_MAX = UINT16_MAX / 2, /* bytes that a unit can carry, two digits each */
	INSTRUCTION_TEXT_MAX = 32,
};

typedef struct {
	char name[64];
	uint64_t captured, dropped;
} captured_interface_t;

typedef struct {
	FILE *out;              /* NULL: not open yet */
	const char *path;       /* "-": standard output */
	const char *expression; /* NULL: none */
	uint32_t snaplen;       /* 0: all */
	uint64_t count_max;     /* 0: no limit */
	uint64_t written;
	uint64_t start_ns;
	captured_interface_t interfaces[INTERFACES_MAX];
	uint32_t interface_count;
	uint8_t frame[FRAME_MAX];
	char refusal[256]; /* what the server answered instead; "": nothing */
} capture_t;

static volatile sig_atomic_t must_end;

static void xdp_capture_end_soon(int number)
{
	(void)number;
	must_end = 1;
}

static bool xdp_capture_report_error(const char *format, const char *text)
{
	char message[1024];
	/* Each format here has one %s. */
	snprintf(message, sizeof(message), format, text);
	return message_error("%s", message);
}

/* ---- Arguments ---- */

static bool xdp_capture_read_arguments(const knot_ctl_data_t *unit, capture_t *capture)
{
	const char *count = (*unit)[KNOT_CTL_IDX_TTL], *snaplen = (*unit)[KNOT_CTL_IDX_ITEM];
	uint64_t number = 0;
	if (count != NULL && !knot_number_of(count, 1, UINT64_MAX, &capture->count_max)) {
		return xdp_capture_report_error("invalid count '%s'", count);
	}
	if (snaplen != NULL && !knot_number_of(snaplen, 1, SNAPLEN_MAX, &number)) {
		return xdp_capture_report_error("invalid snaplen '%s', use 1 to 262144", snaplen);
	}
	capture->snaplen = (uint32_t)number;
	capture->path = (*unit)[KNOT_CTL_IDX_OWNER];
	capture->expression = (*unit)[KNOT_CTL_IDX_DATA];
	if (strcmp(capture->path, "-") == 0 && isatty(STDOUT_FILENO)) {
		return xdp_capture_report_error(
				"%s", "standard output is a terminal; name a file, or pipe into tcpdump -r -");
	}
	return true;
}

/* The program as "count,code jt jf k,code jt jf k,...", owned by the caller; NULL: an error was printed. */
static char *xdp_capture_print_program(const struct bpf_program *program)
{
	size_t max = ((size_t)program->bf_len + 1) * INSTRUCTION_TEXT_MAX;
	char *text = malloc(max);
	if (text == NULL) {
		(void)xdp_capture_report_error("%s", knot_strerror(KNOT_ENOMEM));
		return NULL;
	}
	size_t len = (size_t)snprintf(text, max, "%u", program->bf_len);
	for (unsigned i = 0; i < program->bf_len; i++) {
		const struct bpf_insn *insn = &program->bf_insns[i];
		len += (size_t)snprintf(text + len, max - len, ",%u %u %u %u", insn->code, insn->jt, insn->jf, insn->k);
	}
	if (len > UINT16_MAX) {
		(void)xdp_capture_report_error("%s", "filter expression is too long");
		free(text);
		return NULL;
	}
	return text;
}

/* Loads from beyond the packet ask for facts that only the kernel has about its packets, such as "inbound". */
static bool xdp_capture_asks_kernel(const struct bpf_program *program)
{
	for (unsigned i = 0; i < program->bf_len; i++) {
		const struct bpf_insn *insn = &program->bf_insns[i];
		if (BPF_CLASS(insn->code) == BPF_LD && BPF_MODE(insn->code) == BPF_ABS &&
				insn->k >= (uint32_t)SKF_NET_OFF) {
			return true;
		}
	}
	return false;
}

static char *xdp_capture_compile_filter(const char *expression)
{
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, SNAPLEN_MAX);
	if (pcap == NULL) {
		(void)xdp_capture_report_error("%s", knot_strerror(KNOT_ENOMEM));
		return NULL;
	}
	struct bpf_program program;
	char *text = NULL;
	if (pcap_compile(pcap, &program, expression, 1, PCAP_NETMASK_UNKNOWN) == 0) {
		if (xdp_capture_asks_kernel(&program)) {
			(void)xdp_capture_report_error("invalid filter expression: %s",
					"these frames don't pass the kernel, which 'inbound' and 'outbound' ask");
		} else {
			text = xdp_capture_print_program(&program);
		}
		pcap_freecode(&program);
	} else {
		(void)xdp_capture_report_error("invalid filter expression: %s", pcap_geterr(pcap));
	}
	pcap_close(pcap);
	return text;
}

/* ---- Output ---- */

static uint64_t xdp_capture_now_ns(void)
{
	struct timespec now = sys_clock_real();
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool xdp_capture_open_output(capture_t *capture)
{
	capture->out = strcmp(capture->path, "-") == 0 ? stdout : fopen(capture->path, "wb");
	if (capture->out == NULL) {
		(void)message_error("failed to open '%s' (%s)", capture->path, strerror(errno));
		return false;
	}
	capture->start_ns = xdp_capture_now_ns();
	pcapng_section(capture->out, "knotc (" PACKAGE_STRING ")");
	for (uint32_t i = 0; i < capture->interface_count; i++) {
		pcapng_interface(capture->out, capture->interfaces[i].name, capture->snaplen, capture->expression);
	}
	return true;
}

/* The number of an interface in the file, which describes it before its first frame. INTERFACES_MAX: too many. */
static uint32_t xdp_capture_find_interface(capture_t *capture, const char *name)
{
	for (uint32_t i = 0; i < capture->interface_count; i++) {
		if (strcmp(capture->interfaces[i].name, name) == 0) {
			return i;
		}
	}
	if (capture->interface_count == INTERFACES_MAX) {
		return INTERFACES_MAX;
	}
	snprintf(capture->interfaces[capture->interface_count].name, sizeof(capture->interfaces[0].name), "%s", name);
	if (capture->out != NULL) {
		pcapng_interface(capture->out, name, capture->snaplen, capture->expression);
	}
	return capture->interface_count++;
}

static void xdp_capture_take_frame(capture_t *capture, uint32_t interface, const knot_ctl_data_t *unit)
{
	const char *direction = (*unit)[KNOT_CTL_IDX_ITEM], *time = (*unit)[KNOT_CTL_IDX_TTL];
	const char *original = (*unit)[KNOT_CTL_IDX_OWNER], *hex = (*unit)[KNOT_CTL_IDX_DATA];
	uint64_t original_len = 0;
	size_t len = 0;
	pcapng_frame_t frame = { .interface = interface, .bytes = capture->frame };
	if (direction == NULL || time == NULL || original == NULL || hex == NULL ||
			!knot_number_of(time, 0, UINT64_MAX, &frame.time_ns) ||
			!knot_number_of(original, 0, UINT32_MAX, &original_len) ||
			!knot_hex_scan(knot_str_of(hex), capture->frame, &len)) {
		snprintf(capture->refusal, sizeof(capture->refusal), "%s", knot_strerror(KNOT_EMALF));
		return;
	}
	if (capture->count_max > 0 && capture->written == capture->count_max) {
		return;
	}
	frame.len = (uint32_t)len;
	frame.original_len = (uint32_t)original_len;
	frame.direction = strcmp(direction, "out") == 0 ? PCAPNG_OUTBOUND : PCAPNG_INBOUND;
	pcapng_frame(capture->out, &frame);
	capture->written++;
}

static void xdp_capture_take_counter(captured_interface_t *interface, const knot_ctl_data_t *unit)
{
	const char *item = (*unit)[KNOT_CTL_IDX_ITEM], *value = (*unit)[KNOT_CTL_IDX_DATA];
	uint64_t number = 0;
	if (item == NULL || value == NULL || !knot_number_of(value, 0, UINT64_MAX, &number)) {
		return;
	}
	if (strcmp(item, "captured") == 0) {
		interface->captured = number;
	} else if (strcmp(item, "dropped") == 0) {
		interface->dropped = number;
	}
}

static void xdp_capture_take_unit(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	capture_t *capture = ctx;
	const char *error = (*unit)[KNOT_CTL_IDX_ERROR], *what = (*unit)[KNOT_CTL_IDX_TYPE],
		   *name = (*unit)[KNOT_CTL_IDX_ID];
	if (error != NULL) {
		snprintf(capture->refusal, sizeof(capture->refusal), "%s", error);
	}
	if (error != NULL || what == NULL || name == NULL) {
		return;
	}
	uint32_t interface = xdp_capture_find_interface(capture, name);
	if (interface == INTERFACES_MAX) {
		return;
	}
	if (strcmp(what, "packet") == 0 && capture->out != NULL) {
		xdp_capture_take_frame(capture, interface, unit);
	} else if (strcmp(what, "statistics") == 0) {
		xdp_capture_take_counter(&capture->interfaces[interface], unit);
	}
}

/* ---- Requests ---- */

/* One block. False: an error was printed, unless the server has gone (*ret_gone). */
static bool xdp_capture_ask_server(knot_ctl_t *ctl, capture_t *capture, const knot_ctl_data_t *unit, bool *ret_gone)
{
	char error[KNOTC_ERROR_MAX];
	knot_ctl_data_t copy;
	memcpy(copy, unit, sizeof(copy));
	request_t request = { .units = &copy, .count = 1 };
	knot_err_t err = knotc_block(ctl, &request, xdp_capture_take_unit, capture, error);
	*ret_gone = err == KNOT_ECONNCLOSED || err == knot_err_of_errno(ECONNRESET) || err == knot_err_of_errno(EPIPE);
	if (err != KNOT_OK) {
		return *ret_gone ? false : xdp_capture_report_error("%s", error);
	}
	return capture->refusal[0] == '\0' ? true : xdp_capture_report_error("(%s)", capture->refusal);
}

/* Read frames until there are enough, a signal comes, the reader of the pipe or the server ends. False: an error was
 * printed. */
static bool xdp_capture_read_frames(knot_ctl_t *ctl, capture_t *capture)
{
	bool is_gone = false;
	knot_ctl_data_t read_unit = { [KNOT_CTL_IDX_CMD] = "xdp-capture-read" };
	while (!must_end && (capture->count_max == 0 || capture->written < capture->count_max)) {
		if (!xdp_capture_ask_server(ctl, capture, (const knot_ctl_data_t *)&read_unit, &is_gone)) {
			break;
		}
		if (fflush(capture->out) != 0 || ferror(capture->out)) {
			break;
		}
	}
	if (is_gone) {
		message_tell(&(message_t){ .level = MESSAGE_WARNING,
				.members = { [MESSAGE_TEXT] = "the server has ended the capture" } });
		return true;
	}
	knot_ctl_data_t stop_unit = { [KNOT_CTL_IDX_CMD] = "xdp-capture-stop" };
	return capture->refusal[0] == '\0' &&
	       xdp_capture_ask_server(ctl, capture, (const knot_ctl_data_t *)&stop_unit, &is_gone);
}

/* Print the counters of the capture. */
static void xdp_capture_report_end(
		const params_t *params, const action_t *action, const capture_t *capture, bool is_good)
{
	/* Standard output has the packets. */
	output_t output = {
		.out = capture->out == stdout ? stderr : stdout,
		.action = action,
		.format = params->format,
	};
	output_begin(&output);
	for (uint32_t i = 0; i < capture->interface_count; i++) {
		const captured_interface_t *interface = &capture->interfaces[i];
		const struct {
			const char *name;
			uint64_t value;
		} items[] = { { "captured", interface->captured }, { "dropped", interface->dropped } };
		for (size_t j = 0; j < KNOT_LEN(items); j++) {
			char value[24];
			snprintf(value, sizeof(value), "%" PRIu64, items[j].value);
			knot_ctl_data_t unit = {
				[KNOT_CTL_IDX_SECTION] = "xdp-capture",
				[KNOT_CTL_IDX_ITEM] = items[j].name,
				[KNOT_CTL_IDX_ID] = interface->name,
				[KNOT_CTL_IDX_DATA] = value,
			};
			output_unit(&output, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&unit);
		}
	}
	char written[24];
	snprintf(written, sizeof(written), "%" PRIu64, capture->written);
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_SECTION] = "xdp-capture",
		[KNOT_CTL_IDX_ITEM] = "written",
		[KNOT_CTL_IDX_DATA] = written,
	};
	output_unit(&output, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&unit);
	(void)output_end(&output, is_good ? NULL : "the capture is not whole");
}

/* Close the file. True: all was written, or the reader of a pipe has closed it. */
static bool xdp_capture_close_output(capture_t *capture)
{
	uint64_t end_ns = xdp_capture_now_ns();
	for (uint32_t i = 0; i < capture->interface_count; i++) {
		const captured_interface_t *interface = &capture->interfaces[i];
		pcapng_statistics(capture->out, &(pcapng_statistics_t){ i, capture->start_ns, end_ns,
								interface->captured, interface->dropped });
	}
	bool is_whole = fflush(capture->out) == 0 && !ferror(capture->out);
	struct pollfd reader = { .fd = fileno(capture->out) };
	bool is_pipe_closed = !is_whole && poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
	if (capture->out == stdout) {
		clearerr(stdout);
	} else if (fclose(capture->out) != 0) {
		is_whole = false;
	}
	return is_whole || is_pipe_closed ? true : xdp_capture_report_error("failed to write to '%s'", capture->path);
}

static bool xdp_capture_run_requests(const params_t *params, const action_t *action, knot_ctl_t *ctl,
		capture_t *capture, const knot_ctl_data_t *start)
{
	bool is_gone = false;
	if (!xdp_capture_ask_server(ctl, capture, start, &is_gone)) {
		return is_gone ? xdp_capture_report_error("%s", "failed to control (the server has ended)") : false;
	}
	if (!xdp_capture_open_output(capture)) {
		return false;
	}
	bool is_good = xdp_capture_read_frames(ctl, capture);
	is_good &= xdp_capture_close_output(capture);
	xdp_capture_report_end(params, action, capture, is_good);
	return is_good;
}

bool knotc_xdp_capture(const params_t *params, const action_t *action, const request_t *request)
{
	const knot_ctl_data_t *words = (const knot_ctl_data_t *)&request->units[0];
	capture_t *capture = calloc(1, sizeof(*capture));
	if (capture == NULL || !xdp_capture_read_arguments(words, capture)) {
		free(capture);
		return false;
	}
	char *program = capture->expression != NULL ? xdp_capture_compile_filter(capture->expression) : NULL;
	bool is_good = capture->expression == NULL || program != NULL;
	char error[KNOTC_ERROR_MAX];
	knot_ctl_t *ctl = is_good ? knotc_connect(params, error) : NULL;
	if (ctl != NULL) {
		/* A capture that a signal ended has a whole file, and the prompt goes on. */
		static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
		struct sigaction action_end = { .sa_handler = xdp_capture_end_soon, .sa_flags = SA_RESTART },
				 old[KNOT_LEN(numbers)], old_pipe;
		must_end = 0;
		for (size_t i = 0; i < KNOT_LEN(numbers); i++) {
			sigaction(numbers[i], &action_end, &old[i]);
		}
		sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &old_pipe);
		knot_ctl_data_t start = {
			[KNOT_CTL_IDX_CMD] = "xdp-capture",
			[KNOT_CTL_IDX_SECTION] = (*words)[KNOT_CTL_IDX_SECTION],
			[KNOT_CTL_IDX_ITEM] = (*words)[KNOT_CTL_IDX_ITEM],
			[KNOT_CTL_IDX_DATA] = program,
		};
		is_good = xdp_capture_run_requests(params, action, ctl, capture, (const knot_ctl_data_t *)&start);
		for (size_t i = 0; i < KNOT_LEN(numbers); i++) {
			sigaction(numbers[i], &old[i], NULL);
		}
		sigaction(SIGPIPE, &old_pipe, NULL);
		knot_ctl_free(ctl);
	} else if (is_good) {
		is_good = xdp_capture_report_error("%s", error);
	}
	free(program);
	free(capture);
	return is_good;
}
