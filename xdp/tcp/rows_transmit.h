/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts (script.h): data both ways. RFC 6298, 5681, 6582, 3042, 6928; RFC 9293 3.8. */
#pragma once

#include "xdp/tcp/rows_connect.h"

#define ASK "< A 1 1 win=512 len=9\nread 9\n" /* behind OPEN: a request; 512 << 7 bytes of window */

static const script_row_t transmit_rows[] = {
	/* RFC 6298. */
	{ "RFC 6298 5.4 to 5.6: a reply is sent again, less and less often",
			OPEN ASK "write 100\n> A 1 10 len=100\ntime +240ms\n> none\ntime +30ms\n> A 1 10 len=100\ntime "
				 "+490ms\n> none\ntime "
				 "+30ms\n> A 1 10 len=100\n"
				 "time +980ms\n> none\ntime +40ms\n> A 1 10 len=100\n< A 10 101\ntime +5s\n> "
				 "none\nstat timeouts 3\n" },
	{ "RFC 6298 2.2: the first round trip sets the timeout",
			"< S 0 mss=1460\n> SA 0 1\ntime +200ms\n< A 1 1 len=9\nread 9\nwrite 9\n> A 1 10 len=9\n"
			"time +590ms\n> none\ntime +30ms\n> A 1 10 len=9\n" },
	{ "RFC 6298 3 (Karn): what was sent twice is not timed",
			OPEN ASK "write 9\n> A 1 10 len=9\ntime +260ms\ntime +9ms\n> A 1 10 len=9\ntime +400ms\n< A 10 "
				 "10\nwrite "
				 "9\n> A 10 10 len=9\ntime +240ms\n> none\ntime +30ms\n> A 10 10 len=9\n" },
	{ "RFC 6298 5.7: after a SYN-ACK that was sent again the timeout starts with 3 s",
			"< S 0 mss=1460\n> SA 0 1\ntime +1100ms\n> SA 0 1\n< A 1 1 len=9\nread 9\nwrite 9\n> A 1 10 "
			"len=9\ntime "
			"+2980ms\n> none\ntime +40ms\n> A 1 10 len=9\n" },
	{ "tcp-resend-timeout is an upper bound of the first timeout",
			"limits resend_ms=100\n< S 0 mss=1460\n> SA 0 1\ntime +110ms\n> SA 0 1\n< A 1 1 len=9\nread "
			"9\nwrite 9\n> A "
			"1 10 len=9\ntime +120ms\n> A 1 10 len=9\n" },
	{ "RFC 6298 5.3: an ACK of some of it restarts the timer", OPEN ASK
			"write 2920\n> A 1 10 len=1460\n> A 1461 10 len=1460\ntime +200ms\n< A 10 1461\ntime +200ms\n> "
			"none\ntime +900ms\n> A 1461 10 len=1460\n" },
	{ "RFC 9293 3.8.3 (R2): too many timeouts end it",
			"limits idle_close=1000 idle_reset=2000\n" OPEN ASK "write 9\n> A 1 10 len=9\n"
			"time +1s\ndrain\ntime +1s\ndrain\ntime +2s\ndrain\ntime +3s\ndrain\ntime +5s\ndrain\ntime "
			"+9s\ndrain\ntime "
			"+17s\ndrain\ntime +33s\ndrain\n"
			"time +61s\ndrain\ntime +61s\ndrain\ntime +61s\ndrain\nstat clients 0\nstat gave_up 1\n" },

	/* Congestion. */
	{ "RFC 6928 2: the initial window is ten segments", OPEN ASK
			"write 20000\n> A 1 10 len=1460\n> A 1461 10 len=1460\n> A 2921 10 len=1460\n> A 4381 10 "
			"len=1460\n> A 5841 10 len=1460\n"
			"> A 7301 10 len=1460\n> A 8761 10 len=1460\n> A 10221 10 len=1460\n> A 11681 10 len=1460\n> A "
			"13141 10 len=1460\n> none\n" },
	{ "RFC 5681 3.1: slow start: a segment acknowledged lets two go", OPEN ASK
			"write 30000\ndrain\n< A 10 1461\n> A 14601 10 len=1460\n> A 16061 10 len=1460\n> none\n" },
	{ "RFC 5681 3.1: after a timeout one segment, then two",
			OPEN ASK "write 20000\ndrain\ntime +300ms\n> A 1 10 len=1460\n> none\n< A 10 1461\n> A 1461 10 "
				 "len=1460\n> A "
				 "2921 10 len=1460\n> none\n" },
	{ "RFC 5681 3.2: three duplicate ACKs: the segment is sent again at once", OPEN ASK
			"write 14600\ndrain\n< A 10 1461\n< A 10 1461\n< A 10 1461\n> none\n< A 10 1461\n> A 1461 10 "
			"len=1460\n> none\nstat fast_resent 1\nstat timeouts 0\n" },
	{ "RFC 5681 2: ACKs with data or another window are no duplicates",
			OPEN ASK "write 14600\ndrain\n< A 10 1461\n< A 10 1461 win=513\n< A 10 1461 win=514\n< A 10 "
				 "1461 win=515\n> "
				 "none\nstat fast_resent 0\n" },
	{ "RFC 3042: the first two duplicates let a new segment go each",
			OPEN ASK "write 20000\ndrain\n< A 10 1 win=512\n> A 14601 10 len=1460\n> none\n< A 10 1 "
				 "win=512\n> A 16061 "
				 "10 len=1460\n> none\n" },
	{ "RFC 6582 3.2: a partial ACK: the next hole at once, no timeout", OPEN ASK
			"write 14600\ndrain\n< A 10 1 win=512\n< A 10 1 win=512\n< A 10 1 win=512\n> A 1 10 "
			"len=1460\n> "
			"none\n< A 10 4381\n> A 4381 10 len=1460\n> none\n< A 10 14601\n> none\nstat timeouts 0\nstat "
			"resent 2\nstat fast_resent 1\n" },
	{ "RFC 6582 4: old duplicates after a timeout start no fast retransmission",
			OPEN ASK "write 14600\ndrain\ntime +300ms\n> A 1 10 len=1460\n< A 10 1 win=512\n< A 10 1 "
				 "win=512\n< A 10 1 "
				 "win=512\n< A 10 1 win=512\nstat fast_resent 0\n" },
	{ "RFC 5681 4.1: after a pause not more than the initial window",
			OPEN ASK "write 14600\ndrain\n< A 10 14601\nwrite 16060\ndrain\n< A 10 30661\ntime +2s\n< A 10 "
				 "30661 len=9\nread "
				 "9\nwrite 40000\n"
				 "> A 30661 19 len=1460\n> A 32121 19 len=1460\n> A 33581 19 len=1460\n> A 35041 19 "
				 "len=1460\n> A 36501 19 "
				 "len=1460\n> A 37961 19 len=1460\n"
				 "> A 39421 19 len=1460\n> A 40881 19 len=1460\n> A 42341 19 len=1460\n> A 43801 19 "
				 "len=1460\n> none\n" },
	{ "two timeouts of a full segment: it is made shorter, IPv4",
			OPEN ASK "write 5000\ndrain\ntime +300ms\n> A 1 10 len=1460\ntime +600ms\n> A 1 10 "
				 "len=1220\ntime +1100ms\n> "
				 "A 1 10 len=1220\ntime +2100ms\n> A 1 10 len=536\ntime +4200ms\n> A 1 10 len=536\n" },
	{ "two timeouts of a full segment: IPv6 has 1220 as the least",
			"v6\n" OPEN ASK
			"write 5000\ndrain\ntime +300ms\n> A 1 10 len=1440\ntime +600ms\n> A 1 10 len=1220\ntime "
			"+1100ms\n> A 1 10 len=1220\ntime +2100ms\n> A 1 10 len=1220\n" },
	{ "… of a short one: it is not", OPEN ASK
			"write 700\n> A 1 10 len=700\ntime +300ms\n> A 1 10 len=700\ntime +600ms\n> A 1 10 len=700\n" },

	/* Windows. */
	{ "RFC 9293 3.8.6: not beyond the window",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 win=3000 len=9\nread 9\nwrite 5000\n> A 1 10 len=1460\n> A "
			"1461 10 "
			"len=1460\n> none\n< A 10 2921 win=3000\n> A 2921 10 len=1460\n> A 4381 10 len=620\n" },
	{ "RFC 9293 3.8.6.1: a closed window is probed with a byte, less and less often",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 win=100 len=9\nread 9\nwrite 300\n> A 1 10 len=100\n< A 10 "
			"101 win=0\n> "
			"none\n"
			"time +240ms\n> none\ntime +30ms\n> A 101 10 len=1\n< A 10 101 win=0\n> none\ntime +490ms\n> "
			"none\ntime "
			"+30ms\n> A 101 10 len=1\n< A 10 101 win=0\n"
			"time +980ms\n> none\ntime +40ms\n> A 101 10 len=1\n< A 10 101 win=1000\n> A 101 10 len=200\n< "
			"A 10 "
			"301\ntime +5s\n> none\n" },
	{ "RFC 9293 3.8.6.1: a probe that was taken counts",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 win=100 len=9\nread 9\nwrite 300\n> A 1 10 len=100\n< A 10 "
			"101 win=0\n> "
			"none\ntime +300ms\n> A 101 10 len=1\n< A 10 102 win=1000\n> A 102 10 len=199\n" },
	{ "RFC 9293 3.8.6.1: FIN behind a closed window", "< S 0 mss=1460\n> SA 0 1\n< A 1 1 win=100 len=9\nread "
							  "9\nwrite 100\n> A 1 10 len=100\nclose\n> none\n< A 10 "
							  "101 win=0\n> none\ntime +300ms\n> FA 101 10\n< A 10 101 "
							  "win=10\n> FA 101 10\n< A 10 102\n> none\n" },
	{ "RFC 9293 3.8.6: a window that shrinks: nothing is lost",
			"< S 0 mss=1000\n> SA 0 1\n< A 1 1 win=4000 len=9\nread 9\nwrite 4000\ndrain\n< A 10 1001 "
			"win=0\n> "
			"none\ntime +1100ms\n> none\ntime +1100ms\n> A 1001 10 len=1\n"
			"< A 10 1001 win=4000\n> A 1001 10 len=1000\n< A 10 4001\n> none\n" },
	{ "RFC 9293 3.10.7.4 fifth: an old segment's window is not taken",
			OPEN "< A 1 1 win=20 len=9\nread 9\n> A 1 10\n< A 10 1 win=8 len=9\nread 9\n> A 1 19\n< A 10 1 "
			     "win=512 "
			     "len=9\n> A 1 19\nwrite 3000\n> none\ntime +600ms\n> A 1 19 len=1024\n> none\n" },
	{ "RFC 9293 3.10.7.4 fifth: the window of an ACK that is new is taken, though its number is lower than "
	  "another's",
			OPEN "< A 1 1 win=512 len=9\nread 9\nwrite 3000\ndrain\n< A 110 1 win=512 len=9\n> A 3001 "
			     "10\n< A 10 3001 "
			     "win=2 len=100\nread 109\nwrite 200\n> A 3001 119 len=200\n> none\n" },
	{ "RFC 9293 3.8.6.2.1: a small window with more to send waits for more, but not for ever",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 win=8000 len=9\nread 9\nwrite 9000\ndrain\n< A 10 7301 "
			"win=100\n> "
			"none\ntime +600ms\n> A 7301 10 len=100\n" },
	{ "RFC 9293 3.8.6.2.1: the end of the data goes however short it is",
			OPEN ASK "write 5\n> A 1 10 len=5\nwrite 6\n> A 6 10 len=6\n" },
	{ "the congestion window counts in segments that our frames take",
			"limits mtu=9000\nmtu 9000\n< S 0 mss=8960\n> SA 0 1 mss=8960\n< A 1 1 win=65535 len=9\nread "
			"9\nwrite "
			"60000\n> A 1 10 len=8960\n> A 8961 10 len=8960\n> none\n" },

	/* Receiving. */
	{ "RFC 5681 4.2: data out of order gets duplicate ACKs at once, one each", OPEN
			"< A 11 1 len=10\n< A 21 1 len=10\n< A 31 1 len=10\n> A 1 1\n> A 1 1\n> A 1 1\n> none\n< A 1 1 "
			"len=10\nread 40\n> A 1 41\n> none\nstat out_of_order 3\n" },
	{ "RFC 9293 3.10.7.4 seventh: holes are filled in any order",
			OPEN "< A 21 1 len=10\n< A 41 1 len=10\ndrain\n< A 11 1 len=10\n> A 1 1\n< A 1 1 len=10\nread "
			     "30\n> A 1 "
			     "31\n< A 31 1 len=10\nread 20\n> A 1 51\n" },
	{ "data out of order that overlaps", OPEN "< A 15 1 len=20\n< A 11 1 len=10\n< A 31 1 len=10\ndrain\n< A 1 1 "
						  "len=12\nread 40\n> A 1 41\n" },
	{ "what is behind more holes than are kept comes again",
			OPEN "< A 11 1 len=5\n< A 21 1 len=5\n< A 31 1 len=5\n< A 41 1 len=5\n< A 51 1 len=5\n< A 61 1 "
			     "len=5\n< A 71 "
			     "1 len=5\n< A 81 1 len=5\n< A 91 1 len=5\ndrain\n"
			     "< A 1 1 len=10\nread 15\n< A 16 1 len=70\nread 70\ndrain\n< A 86 1 len=5\nread 5\n> A 1 "
			     "91\n< A 91 1 "
			     "len=5\nread 5\n> A 1 96\n" },
	{ "RFC 9293 3.8.6.3: one ACK for a batch",
			OPEN "< A 1 1 len=10\nread 10\n< A 11 1 len=10\nread 10\n> A 1 21\n> none\n" },
	{ "an ACK goes with the reply", OPEN "< A 1 1 len=10\nread 10\nwrite 20\n> A 1 11 len=20\n> none\n" },
	{ "bytes that were not consumed come again with more", OPEN
			"< A 1 1 len=10\nread 10 use=4\n> A 1 11\n< A 11 1 len=10\nread 16 use=16\nstat inbuf 0\n" },
	{ "a request in many segments, many requests in a segment",
			OPEN "< A 1 1 len=1\nread 1 use=0\n< A 2 1 len=1\nread 2 use=0\n< A 3 1 len=1000\nread 1002 "
			     "use=1001\n< A "
			     "1003 1 len=500\nread 501\nstat inbuf 0\n> A 1 1503\n" },
	{ "input waits for room in the output and comes again with it", OPEN
			"< A 1 1 win=65535 len=100\nread 100 use=50\nwrite 250000\nnext none\n< A 101 1 win=65535\n< A "
			"101 1 "
			"win=65535 len=1\nread 51 use=0\nnext none\n"
			"drain\n< A 102 14601\nnext none\ndrain\n< A 102 30661\nnext none\ndrain\n< A 102 48181\nnext "
			"none\ndrain\n< A 102 67161\nnext\nread 51\nstat inbuf 0\nnext none\n" },
	{ "RFC 9293 3.8.6, 3.8.6.2.2: our window closes when nothing is read, and opens again",
			"limits outbuf=65537\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65537\n< A 10 1 win=0 len=8000\nread 8000 use=0\ndrain\n"
			"< A 8010 1 win=0 len=8000\nread 16000 use=0\n> A 1 16010\n"
			"< A 16010 1 win=0 len=8000\nread 24000 use=0\n> A 1 24010\n"
			"< A 24010 1 win=0 len=8000\nread 32000 use=0\n> A 1 32010\n"
			"< A 32010 1 win=0 len=8000\nread 40000 use=0\n> A 1 40010\n"
			"< A 40010 1 win=0 len=8000\nread 48000 use=0\n> A 1 48010\n"
			"< A 48010 1 win=0 len=8000\nread 56000 use=0\n> A 1 56010\n"
			"< A 56010 1 win=0 len=8000\nread 64000 use=0\n> A 1 64010\n"
			"< A 64010 1 win=0 len=8000\nread 72000 use=0\n> A 1 72010\n"
			"< A 72010 1 win=0 len=8000\nread 80000 use=0\n> A 1 80010\n"
			"< A 80010 1 win=0 len=8000\nread 88000 use=0\n> A 1 88010\n"
			"< A 88010 1 win=0 len=8000\nread 96000 use=0\n> A 1 96010\n"
			"< A 96010 1 win=0 len=8000\nread 104000 use=0\n> A 1 104010\n"
			"< A 104010 1 win=0 len=8000\nread 112000 use=0\n> A 1 112010\n"
			"< A 112010 1 win=0 len=8000\nread 120000 use=0\n> A 1 120010\n"
			"< A 120010 1 win=0 len=8000\nread 128000 use=0\n> A 1 128010\n"
			"< A 128010 1 win=0 len=8000\nread 131072 use=0\n> A 1 131082 win=0\n< A 131082 1 win=0 "
			"len=1\n> A 1 131082 "
			"win=0\n> none\n"
			"< A 131082 1 win=512\nnext none\ndrain\n< A 131082 14601 win=512\ndrain\n< A 131082 30661 "
			"win=512\ndrain\n< "
			"A 131082 48181 win=512\ndrain\nnext none\n"
			"< A 131082 65538 win=512\nnext\nread 131072\n> A 65538 131082 win=65535\n> none\nstat inbuf "
			"0\n" },
};
