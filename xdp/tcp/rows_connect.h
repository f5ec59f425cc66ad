/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts (script.h): opening, checking, closing. RFC 9293 3.5, 3.6, 3.10.7; RFC 5961; RFC 7323 2; RFC 4987 3.6. */
#pragma once

#include "xdp/tcp/script.h"

#define OPEN "< S 0 mss=1460 scale=7\n> SA 0 1\n< A 1 1 win=512\n> none\n"

static const script_row_t connect_rows[] = {
	{ "RFC 9293 3.5: handshake, query, reply, the client closes", "< S 0 mss=1460 scale=7\n"
								      "> SA 0 1 mss=1460 scale=0 win=65535\n"
								      "stat half_open 1\n"
								      "< A 1 1\n"
								      "> none\n"
								      "stat half_open 0\n"
								      "< PA 1 1 len=40\n"
								      "read 40\n"
								      "write 100\n"
								      "> A 1 41 len=100\n"
								      "> none\n"
								      "< A 41 101\n"
								      "> none\n"
								      "< FA 41 101\n"
								      "read 0 fin\n"
								      "close\n"
								      "> FA 101 42\n"
								      "< A 42 102\n"
								      "> none\n"
								      "stat clients 0\n"
								      "stat time_wait 0\n" },
	{ "RFC 9293 3.5: IPv6", "v6\n" OPEN "< A 1 1 len=40\nread 40\nwrite 100\n> A 1 41 len=100\n" },
	{ "RFC 9293 3.10.7.4 fifth: data on the ACK of the handshake",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 len=40\nread 40\nwrite 100\n> A 1 41 len=100\n> none\n" },
	{ "RFC 9293 3.10.7.4: data and FIN on the ACK of the handshake",
			"< S 0 mss=1460\n> SA 0 1\n< FA 1 1 len=40\nread 40 fin\nwrite 100\nclose\n> FA 1 42 "
			"len=100\n< A 42 102\n> "
			"none\nstat clients 0\n" },
	{ "RFC 9293 3.10.7.2: data in a SYN is not acknowledged and comes again",
			"< S 0 mss=1460 len=40\n> SA 0 1\n> none\n< A 1 1 len=40\nread 40\n> A 1 41\n" },
	{ "RFC 9293 3.10.7.2: SYN with FIN is nothing", "< SF 0 mss=1460\n> none\nstat dropped_invalid 1\n" },
	{ "RFC 9293 3.10.7.2: RST of no connection is ignored", "< R 5\n> none\n< RA 5 7\n> none\n" },
	{ "RFC 9293 3.10.7.2: ACK of no connection gets RST of its number",
			"< A 5 7\n> R 7\nstat resets_out 1\nstat clients 0\n" },
	{ "RFC 9293 3.10.7.2: SYN-ACK of no connection gets RST of its number", "< SA 5 7\n> R 7\n" },
	{ "RFC 9293 3.10.7.2: neither SYN, ACK nor RST is dropped", "< F 5\n> none\n< P 5 len=10\n> none\n" },
	{ "RFC 9293 3.8.1: a lost SYN-ACK is sent again when SYN comes again",
			"< S 0 mss=1460\n> SA 0 1\n< S 0 mss=1460\n> SA 0 1\n> none\n" },
	{ "RFC 6298 2.1, 5.5: a lost SYN-ACK is sent again after 1, 2, 4, 8 s, then forgotten",
			"< S 0 mss=1460\n> SA 0 1\n"
			"time +990ms\n> none\ntime +20ms\n> SA 0 1\n> none\n"
			"time +1980ms\n> none\ntime +30ms\n> SA 0 1\n"
			"time +3970ms\n> none\ntime +40ms\n> SA 0 1\n"
			"time +8s\n> SA 0 1\n"
			"stat half_open 1\n"
			"time +17s\n> none\n"
			"stat half_open 0\nstat clients 0\nstat gave_up 1\n" },
	{ "RFC 9293 3.10.7.4: the first ACK was lost, data makes the connection",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 len=9\nread 9\nstat accepted 1\n" },
	{ "RFC 9293 3.10.7.4 fifth: a wrong ACK in SYN-RECEIVED gets RST, the connection stays",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 2\n> R 2\n< A 1 0\n> R 0\n< A 1 1 len=5\nread 5\n" },
	{ "RFC 9293 3.10.7.4 second: RST in SYN-RECEIVED",
			"< S 0 mss=1460\n> SA 0 1\n< R 1\n> none\nstat clients 0\nstat half_open 0\n" },
	{ "RFC 5961 3.2: RST elsewhere in the window in SYN-RECEIVED is not enough",
			"< S 0 mss=1460\n> SA 0 1\n< R 2\n> A 1 1\nstat clients 1\n" },
	{ "RFC 9293 3.10.7.4 fourth: another SYN in the window of SYN-RECEIVED starts from scratch",
			"< S 0 mss=1460\n> SA 0 1\nagain isn=100\n< S 0 mss=1460\n> SA 0 1\nstat clients 1\n" },
	{ "… but not one with ACK: this side never opens a connection",
			"< S 0 mss=1460\n> SA 0 1\n< SA 100 1\n> A 1 1\n> none\n< A 1 1 len=9\nread 9\n" },
	{ "… nor one with ACK and the same number: two servers would send each other SYN-ACKs for ever",
			"< S 0 mss=1460\n> SA 0 1\n< SA 0 1\n> A 1 1\n> none\n" },
	{ "RFC 9293 3.10.7.4 first: an old SYN in SYN-RECEIVED gets an ACK",
			"< S 0 mss=1460\n> SA 0 1\n< S -5000\n> A 1 1\nstat clients 1\n" },

	/* Options. */
	{ "RFC 9293 3.7.1: without MSS it is 536", "< S 0\n> SA 0 1 mss=1460\n< A 1 1 len=9\nread 9\nwrite 1000\n> A 1 "
						   "10 len=536\n> A 537 10 len=464\n" },
	{ "RFC 9293 3.7.1: without MSS it is 1220 over IPv6",
			"v6\n< S 0\n> SA 0 1 mss=1440\n< A 1 1 len=9\nread 9\nwrite 2000\n> A 1 10 len=1220\n" },
	{ "RFC 9293 3.7.1: the peer's MSS", "< S 0 mss=700\n> SA 0 1\n< A 1 1 len=9\nread 9\nwrite 1000\n> A 1 10 "
					    "len=700\n> A 701 10 len=300\n" },
	{ "an MSS that would make a segment of each byte (CVE-2019-11479) counts as 64",
			"< S 0 mss=1\n> SA 0 1\n< A 1 1 len=9\nread 9\nwrite 100\n> A 1 10 len=64\n> A 65 10 "
			"len=36\n" },
	{ "… also in a cookie", "limits half_open=0\n< S 0 mss=1\n> SA 0 1\n< A 1 1 len=9\nread 9\nwrite 100\n> A 1 10 "
				"len=64\n" },
	{ "RFC 9293 3.7.1: not more than our path takes", "mtu 1400\n< S 0 mss=1460\n> SA 0 1 mss=1360\n< A 1 1 "
							  "len=9\nread 9\nwrite 2000\n> A 1 10 len=1360\n" },
	{ "RFC 7323 2.2: no window scale unless the peer sends one", "< S 0 mss=1460\n> SA 0 1 scale=-1\n" },
	{ "RFC 7323 2.2: the window of a SYN is not scaled, others are",
			"< S 0 mss=1000 scale=3 win=65535\n> SA 0 1 scale=0\n< A 1 1 win=300 len=9\nread 9\nwrite "
			"5000\n"
			"> A 1 10 len=1000\n> A 1001 10 len=1000\n> none\n" },
	{ "RFC 7323 2.2: without the option no scale is applied",
			"< S 0 mss=1000\n> SA 0 1\n< A 1 1 win=2000 len=9\nread 9\nwrite 5000\n> A 1 10 len=1000\n> A "
			"1001 10 "
			"len=1000\n> none\n" },

	/* Cookies. */
	{ "RFC 4987 3.6: a cookie takes no memory and makes a connection with MSS and scale",
			"limits half_open=0\n< S 0 mss=1380 scale=3\n> SA 0 1 mss=1460 scale=0\nstat clients 0\nstat "
			"cookies_sent 1\n"
			"< A 1 1 win=400 len=40\nread 40\nstat cookies_good 1\nstat clients 1\n"
			"write 4000\n> A 1 41 len=1380\n> A 1381 41 len=1380\n> none\n" },
	{ "RFC 4987 3.6: a cookie without options", "limits half_open=0\n< S 0\n> SA 0 1 scale=-1\n< A 1 1 len=5\nread "
						    "5\nwrite 600\n> A 1 6 len=536\n> A 537 6 len=64\n" },
	{ "RFC 4987 3.6: a wrong cookie gets RST", "limits half_open=0\n< S 0 mss=1460\n> SA 0 1\n< A 1 5\n> R 5\nstat "
						   "cookies_bad 1\nstat clients 0\n" },
	{ "RFC 4987 3.6: nor does one of another sequence number",
			"limits half_open=0\n< S 0 mss=1460\n> SA 0 1\n< A 2 1\n> none\nstat cookies_bad 1\nstat "
			"clients 0\n" },
	{ "RFC 4987 3.6: the second segment comes before the first: no RST, the first makes the connection",
			"limits half_open=0\n< S 0 mss=1460\n> SA 0 1\n< A 41 1 len=10\n> none\n< A 1 1 len=40\nread "
			"40\n> A 1 41\n< "
			"A 41 1 len=10\nread 10\n" },
	{ "RFC 4987 3.6: a cookie is good for a minute",
			"limits half_open=0\n< S 0 mss=1460\n> SA 0 1\ntime +60s\n< A 1 1 len=5\nread 5\n" },
	{ "RFC 4987 3.6: … and not after more than two",
			"limits half_open=0\n< S 0 mss=1460\n> SA 0 1\ntime +130s\n< A 1 1\n> R 1\nstat clients 0\n" },
	{ "cookies are for when half-open connections are too many",
			"limits half_open=1\n< S 0 mss=1460\n> SA 0 1\nstat cookies_sent 0\nport 1\n< S 0 mss=1460\n> "
			"SA 0 1\nstat "
			"cookies_sent 1\nstat half_open 1\n" },

	/* RFC 5961. */
	{ "RFC 5961 5.2: a segment with a wrong acknowledgment doesn't change the path either",
			OPEN "mtu 1200\n< A 1 1 badack len=9\n> A 1 1\nmtu 1500\n< A 1 1 len=9\nread 9\nwrite 2000\n> "
			     "A 1 10 "
			     "len=1460\n" },
	{ "RFC 5961 3.2: RST of exactly the next number resets",
			OPEN "< R 1\n> none\nstat clients 0\nstat resets_in 1\n" },
	{ "RFC 5961 3.2: RST in the window gets a challenge ACK",
			OPEN "< R 2\n> A 1 1\n> none\nstat clients 1\nstat challenge_acks 1\n" },
	{ "RFC 5961 3.2: RST outside of the window is dropped",
			OPEN "< R 0\n> none\n< R 100000\n> none\nstat clients 1\n" },
	{ "RFC 5961 4.2: SYN in a connection gets a challenge ACK",
			OPEN "< S 1\n> A 1 1\n< S 0 mss=1460\n> A 1 1\n< S 500000\n> A 1 1\nstat clients 1\n" },
	{ "RFC 5961 4.2: so does SYN-ACK", OPEN "< SA 1 1\n> A 1 1\nstat clients 1\n" },
	{ "RFC 5961 5.2: an ACK of what was not sent gets a challenge ACK, its data is dropped",
			OPEN "< A 1 2 len=10\n> A 1 1\n> none\nstat clients 1\n" },
	{ "RFC 5961 5.2: an ACK older than any window was, too",
			OPEN "< A 1 -140000 len=10\n> A 1 1\n> none\nstat challenge_acks 1\n" },
	/* How many challenge ACKs a connection gets: test_challenges_are_apart(). */
	{ "RST to strangers is limited, by address",
			"limits resets=32\n< A 5 7\n> R 7\n< A 5 7\n> R 7\n< A 5 7\n> none\nstat dropped_unknown 1\n"
			"source 2\n< A 5 7\n> R 7\nsource 1\n< A 5 7\n> none\ntime +1s\n< A 5 7\n> R 7\n" },

	/* Acceptance. */
	{ "RFC 9293 3.10.7.4 first: an old segment gets an ACK", OPEN
			"< A 1 1 len=10\nread 10\n> A 1 11\n< A 1 1 len=10\n> A 1 11\n> none\nstat duplicates 1\n" },
	{ "RFC 9293 3.10.7.4 first: data behind the window gets an ACK", OPEN "< A 70000 1 len=10\n> A 1 1\n> none\n" },
	{ "RFC 9293 3.10.7.4 first: what overlaps is cut off in front",
			OPEN "< A 1 1 len=10\nread 10\n> A 1 11\n< A 6 1 len=10\nread 5\n> A 1 16\n" },
	{ "RFC 9293 3.10.7.4 first: … and behind",
			OPEN "< A 65530 1 len=100\n> A 1 1\n< A 1 1 len=10\nread 10\n> A 1 11\n" },
	{ "RFC 9293 3.8.4: a keep-alive (one before the next) is answered", OPEN "< A 0 1\n> A 1 1\n> none\n" },
	{ "RFC 9293 3.10.7.4 fifth: without ACK it is dropped", OPEN "< P 1 len=10\n> none\nstat dropped_invalid 1\n" },
	{ "RFC 9293 3.10.7.4 fifth: an ACK gets no ACK", OPEN "< A 1 1\n> none\n< A 1 1 win=700\n> none\n" },

	/* Closing. */
	{ "RFC 9293 3.6.1: half-closed, the reply still goes",
			OPEN "< FA 1 1 len=40\nread 40 fin\n> A 1 42\nwrite 100\n> A 1 42 len=100\n< A 42 "
			     "101\nclose\n> FA 101 42\n< "
			     "A 42 102\nstat clients 0\n" },
	{ "RFC 9293 3.6 case 1: we close first, FIN-WAIT-2, TIME-WAIT",
			OPEN "< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< A 6 2\n> none\nstat clients 1\n< FA 6 2\n> A 2 "
			     "7\nstat "
			     "time_wait 1\nstat clients 0\n"
			     "time +59s\nstat time_wait 1\ntime +2s\nstat time_wait 0\n" },
	{ "RFC 9293 3.6 case 3: both close at once: CLOSING, TIME-WAIT",
			OPEN "< A 1 1 len=5\nread 5\n> A 1 6\nclose\n> FA 1 6\n< FA 6 1\n> A 2 7\n< A 7 2\n> "
			     "none\nstat time_wait 1\n" },
	{ "RFC 9293 3.10.7.4 eighth: their FIN acknowledges ours",
			OPEN "< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< FA 6 2\n> A 2 7\nstat time_wait 1\n" },
	{ "RFC 9293 3.10.7.4 eighth: FIN again in TIME-WAIT gets an ACK again, and the time starts again", OPEN
			"< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< FA 6 2\n> A 2 7\ntime +50s\n< FA 6 2\n> A 2 7\ntime "
			"+50s\nstat time_wait 1\ntime +11s\nstat time_wait 0\n" },
	{ "RFC 9293 3.10.7.4 eighth: FIN again in CLOSE-WAIT",
			OPEN "< FA 1 1\nread 0 fin\n> A 1 2\n< FA 1 1\n> A 1 2\n> none\n" },
	{ "RFC 9293 3.10.7.4: a lost FIN is sent again", OPEN "< FA 1 1\nread 0 fin\nclose\n> FA 1 2\ntime +2s\n> FA 1 "
							      "2\n< A 2 2\n> none\nstat clients 0\n" },
	{ "RFC 9293 3.10.7.4: FIN goes with the last byte again", OPEN
			"< FA 1 1 len=9\nread 9 fin\nwrite 50\nclose\n> FA 1 11 len=50\ntime +2s\n> FA 1 11 len=50\n" },
	{ "RFC 9293 3.10.7.4: a FIN that comes too early waits for the data before it",
			OPEN "< FA 11 1 len=10\n> A 1 1\n< A 1 1 len=10\nread 20 fin\n> A 1 22\n" },
	{ "RFC 9293 3.10.7.4: an empty FIN that comes too early",
			OPEN "< FA 11 1\n> A 1 1\n< A 1 1 len=10\nread 10 fin\n> A 1 12\n" },
	{ "RFC 9293 3.6.1 (SHLD-3): data after our close gets RST", OPEN
			"< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< A 6 2\n< A 6 2 len=5\n> RA 2\nstat clients 0\n" },
	{ "RFC 9293 3.10.7.4: old data after our close gets an ACK",
			OPEN "< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< A 1 1 len=5\n> A 2 6\nstat clients 1\n" },
	{ "RFC 9293 3.10.5: abort sends RST",
			OPEN "< A 1 1 len=5\nread 5\nabort\n> RA 1\n> none\nstat clients 0\nroom 0\nwrite 5 no\n" },
	{ "abort-all: RST to everybody",
			OPEN "port 1\n" OPEN "port 0\nabort-all\n> RA 1\nport 1\n> RA 1\n> none\nstat clients 0\n" },
	{ "RFC 9293 3.10.7.4 (MAY-2): a higher SYN uses a port in TIME-WAIT again",
			OPEN "< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< FA 6 2\n> A 2 7\nagain isn=1000\n< S 0 "
			     "mss=1460\n> SA 0 "
			     "1\nstat time_wait 0\n< A 1 1 len=4\nread 4\n" },
	{ "RFC 9293 3.10.7.4: a lower one gets an ACK", OPEN "< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< FA 6 2\n> A 2 "
							     "7\n< S -1000 mss=1460\n> A 2 7\nstat time_wait 1\n" },
	{ "RFC 5961 3.2 in TIME-WAIT", OPEN "< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< FA 6 2\n> A 2 7\n< R 8\n> "
					    "none\nstat time_wait 1\n< R 7\n> none\nstat time_wait 0\n" },
};
