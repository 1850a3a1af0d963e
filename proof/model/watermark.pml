/*
 * How far back the sweep reads: the watermark's rule, with time in steps.
 *
 * A step of `now` is a bucket's length. Writers read their clock, stand still up to the stall bound,
 * write; the index shows a write within the lag; a sweeper reads it and writes the watermark. Where
 * there are more, the others look LOOKS times each, whenever they like, beside the first.
 */

#ifndef END
#define END 6             /* steps of time */
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef SWEEPERS
#define SWEEPERS 2
#endif
#ifndef MOVES
#define MOVES 1           /* how often a writer moves its job on */
#endif
#ifndef LOOKS
#define LOOKS 1
#endif
#define SKEW 1            /* between any two clocks: "2 x skew" of the rule */
#define STALL 1
#define LAG 1
#ifdef SHORT_TRAIL
#define TRAIL (SKEW + STALL)
#else
#define TRAIL (SKEW + STALL + LAG)
#endif
#define GAP (LAG + SKEW)

#define BIT(number) (1 << (number))
#define HAS(set, number) ((set) & BIT(number))

byte now;

/* The index. */
bool filed[WRITERS], shown[WRITERS];
byte bucket[WRITERS], filed_at[WRITERS];

/* The writers that read their clock and have not written yet. */
bool stands[WRITERS];
byte read_at[WRITERS];

/* The sweep's record. `empty_since`: plus one; 0 where the bucket was not seen empty. */
byte low;
short open;
byte empty_since[END + 3];
#if SWEEPERS > 1
bool outdated[SWEEPERS];  /* the record was written since this one read it */
#endif

#define READ(number) ((number) >= low || HAS(open, number))
#define NOT_LOST ((!filed[0] || READ(bucket[0])) && (!filed[WRITERS - 1] || READ(bucket[WRITERS - 1])))

#define MAY_PASS(one) (!filed[one] || shown[one] || now < filed_at[one] + LAG)
#ifdef LATE_PUT
#define IN_TIME(one) true
#else
#define IN_TIME(one) (!stands[one] || now < read_at[one] + STALL)
#endif

active proctype clock() {
end_over:
	do
	:: d_step { now < END && MAY_PASS(0) && MAY_PASS(WRITERS - 1) && IN_TIME(0) && IN_TIME(WRITERS - 1) ->
		now++;
		printf("Clock: %d\n", now) }
	od
}

/* Submits a job, retries it once or not, and ends it, or leaves it as it is. */
active [WRITERS] proctype writer() {
	byte me = _pid - 1, off, target, moves;
	if
	:: off = 0
	:: off = SKEW
	fi;
again:
	atomic { stands[me] = true; read_at[me] = now; target = now + off };
	if
	:: skip
	:: target++
	fi;
	d_step {
		stands[me] = false;
		read_at[me] = 0;
		target = (filed[me] && bucket[me] > target -> bucket[me] : target);
		filed[me] = true;
		shown[me] = false;
		bucket[me] = target;
		filed_at[me] = now;
		printf("Writer %d: files its job in bucket %d\n", me, target);
		target = 0
	};
	assert(NOT_LOST);
	d_step { shown[me] = true; filed_at[me] = 0; printf("Index: shows the job of writer %d\n", me) };
	if
	:: moves < MOVES -> moves++; goto again
	:: skip
	:: goto done
	fi;
	d_step { filed[me] = false; shown[me] = false; bucket[me] = 0; filed_at[me] = 0; printf("Writer %d: its job is final\n", me) };
done:	skip
}

#define IS_OVER(number) ((number) + 1 + TRAIL <= began)
#ifdef ONE_LOOK
#define IS_CONFIRMED(number) true
#else
#define IS_CONFIRMED(number) (empty_since[number] > 0 && began + 1 - empty_since[number] >= GAP)
#endif
#ifdef PAST_OPEN
#define JOIN(number) skip
#else
#define JOIN(number) open = open | BIT(number)
#endif

/* The write names the record as it was read: who read another one writes nothing. */
#if SWEEPERS > 1 && !defined(WRITE_UNREAD)
#define AS_READ (!outdated[me])
#else
#define AS_READ true
#endif
#if SWEEPERS > 1
#define HAS_LOOKS (me == 0 || looks < LOOKS)
#else
#define HAS_LOOKS true
#endif

#ifdef WRITE_UNREAD
#define RECORDS (END + 3)
#endif

inline read_record() {
#ifdef WRITE_UNREAD
	my_low = low;
	my_open = open;
	one = 0;
	do
	:: one < RECORDS -> my_empty[one] = empty_since[one]; one++
	:: else -> break
	od;
	one = 0;
#endif
#if SWEEPERS > 1
	outdated[me] = false;
	looks = (me == 0 -> 0 : looks + 1);
#endif
	next = now + 1
}

/* What is written follows from the record that was read, whatever stands there by now. */
inline begin_write() {
	was_low = low;
#ifdef WRITE_UNREAD
	low = my_low;
	open = my_open;
	one = 0;
	do
	:: one < RECORDS -> empty_since[one] = my_empty[one]; my_empty[one] = 0; one++
	:: else -> break
	od;
	my_low = 0;
	my_open = 0;
#endif
	one = 0
}

inline end_write() {
#if SWEEPERS > 1
	one = 0;
	do
	:: AS_READ && one < SWEEPERS -> outdated[one] = (one == me -> outdated[one] : true); one++
	:: else -> break
	od;
	outdated[me] = false;
#endif
	one = 0
}

/* One bucket as the sweep saw it; it counts as first seen empty when the look had ended. */
inline judge(number) {
	if
	:: HAS(seen, number) -> empty_since[number] = 0
	:: !HAS(seen, number) && IS_CONFIRMED(number) && HAS(open, number) ->
		open = open & ~BIT(number);
		empty_since[number] = 0
	:: !HAS(seen, number) && !HAS(open, number) && IS_CONFIRMED(number) && low == number && IS_OVER(number) ->
		low++;
		empty_since[number] = 0
	:: else ->
		empty_since[number] = (empty_since[number] == 0 && number < began -> ended + 1 : empty_since[number])
	fi;
	if
	:: HAS(seen, number) && low == number && IS_OVER(number) ->
		JOIN(number);
		low++
	:: else
	fi
}

active [SWEEPERS] proctype sweeper() {
	byte me = _pid - 1 - WRITERS, off, began, ended, next, one, was_low;
	short seen;
#if SWEEPERS > 1
	byte looks;
#endif
#ifdef WRITE_UNREAD
	byte my_low, my_empty[RECORDS];
	short my_open;
#endif
	if
	:: off = 0
	:: off = SKEW
	fi;
end_idle:
	do
	:: d_step { next <= now && HAS_LOOKS -> began = now + off; read_record() };
		d_step {
			one = 0;
			seen = 0;
			do
			:: one < WRITERS ->
				seen = (filed[one] && shown[one] && READ(bucket[one]) -> seen | BIT(bucket[one]) : seen);
				one++
			:: else -> break
			od;
			one = 0;
			ended = now + off
		};
		d_step {
			begin_write();
			do
			:: AS_READ && one <= END ->
				if
				:: one >= low || HAS(open, one) -> judge(one)
				:: else
				fi;
				one++
			:: else -> break
			od;
			end_write();
			began = 0; ended = 0; seen = 0;
			printf("Sweeper %d: the watermark is %d, open are %d\n", me, low, open);
			assert(low >= was_low);      /* the watermark never falls */
			was_low = 0
		};
		assert(NOT_LOST)
	od
}
