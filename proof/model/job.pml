/*
 * One job among several schedulers and workers, from the tables of the design (states, conditions).
 *
 * Each atomic block is one call of a process to the table or a queue: between two calls anybody may
 * act, and a process may die. Time is choice: `clock` makes the job due and lets leases lapse.
 * A variant is the same with one name defined (-DNO_FENCE, ...). docs/explanation/model.md maps all to the code.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SCHEDULERS
#define SCHEDULERS 2
#endif
#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2
#endif
#ifndef HEARTBEATS
#define HEARTBEATS 1      /* of an attempt */
#endif
#ifndef FAULTS
#define FAULTS 2          /* deaths, purges, leases that lapse under who is alive: all together */
#endif
#ifndef REDRIVES
#define REDRIVES 1
#endif

#define NOBODY 0
#define BIT(number) (1 << (number))

/* `waiting` is PENDING, ENQUEUED and RETRYING: `sent` (an `enqueued_at`) tells them apart. */
mtype = { Worker, Scheduler, Operator };
mtype = { absent, waiting, running, succeeded, dead, cancelled };

/* The job's item. `token` and `lease` together name a lease: each heartbeat makes a new one. */
mtype state = absent;
byte generation, token, attempt, lease;
bool lapsed;              /* lease_until < :now - margin */
bool due;                 /* due_at <= :now */
bool sent;
bool asked;               /* cancel_requested_at */
bool entry;               /* it is in the run_at index */

byte messages;            /* the queue: BIT(generation), delivered again and again until deleted */
bool letter;              /* this round's dead letter is acknowledged */
byte leader = NOBODY;
bool leader_lapsed;

/* What only we know. */
byte holder = NOBODY;     /* who claimed last and was not ended since */
bool holder_lives, leader_lives;
bool stopped;             /* cancelled before its claim, in this round */
byte faults = FAULTS;

#define IS_FINAL (state == succeeded || state == dead || state == cancelled)
#define IS_OWED (state == dead && !letter)
#define SETTLED (state == absent || (IS_FINAL && !entry && !IS_OWED))

ltl finally { <>[] SETTLED }

/* Nothing is lost: what is not final, or for which something is owed, is where the sweep reads. */
#define NOT_LOST (state == absent || entry || (IS_FINAL && !IS_OWED))

/* --- the conditions of the table, and how each variant spoils one ----------------------------- */

#ifdef NO_FENCE
#define OWNED (state == running)
#else
#define OWNED (state == running && token == mine)
#endif

#ifdef RECOVER_ANY_LEASE
#define LOST_AS_SEEN (state == running && token == seen_token)
#else
#define LOST_AS_SEEN (state == running && token == seen_token && lease == seen_lease)
#endif

#ifdef CLAIM_ANY_STATE
#define MAY_CLAIM (state != running || lapsed)
#else
#ifdef CLAIM_LIVE_LEASE
#define MAY_CLAIM (!asked && due && (state == waiting || state == running))
#else
#define MAY_CLAIM (!asked && due && (state == waiting || (state == running && lapsed)))
#endif
#endif
#define CLAIMABLE (number == generation && attempt < MAX_ATTEMPTS && MAY_CLAIM)

#ifdef RETRY_DESPITE_CANCEL
#define MAY_RETRY (attempt < MAX_ATTEMPTS)
#define IS_STOPPING (asked && attempt == MAX_ATTEMPTS)
#else
#define MAY_RETRY (attempt < MAX_ATTEMPTS && !asked)
#define IS_STOPPING asked
#endif

#ifdef FINISH_ANY_ROUND
#define DEAD_AS_SEEN true
#else
#define DEAD_AS_SEEN (state == dead && generation == number)
#endif

#ifdef NO_REDISPATCH
#define IS_MISSED (state == waiting && !sent)
#else
#define IS_MISSED (state == waiting && (!sent || !(messages & BIT(generation))))
#endif

#define IS_LOST (state == running && lapsed)
#ifdef NO_SWEEP
#define SWEEPS false
#else
#define SWEEPS true
#endif
#define CAN_LEAD (leader == NOBODY || leader_lapsed)
#define HAS_WORK (entry && (IS_MISSED || IS_LOST || IS_FINAL))

/* --- the moves -------------------------------------------------------------------------------- */

inline end_attempt(to) {
	assert(state == running);        /* final stays final */
	holder = NOBODY;
	holder_lives = false;
	lapsed = false;
	lease = 0;
	state = to;
	entry = (to == waiting || to == dead);
	sent = (to == waiting);          /* RETRYING: the write says so, then its writer sends */
	due = (to == dead -> due : false);  /* DEAD keeps its entry */
	generation = (to == waiting -> generation + 1 : generation);
	assert(NOT_LOST);
	printf("%e %d: the attempt ends, the job is %e\n", role, me, state)
}

/* What follows an attempt that failed or was lost. */
inline end_badly() {
	if
	:: IS_STOPPING -> end_attempt(cancelled)
	:: !IS_STOPPING && MAY_RETRY -> end_attempt(waiting)
	:: !IS_STOPPING -> end_attempt(dead)  /* out of attempts, or not retryable */
	fi;
	number = generation
}

inline claim() {
	assert(!IS_FINAL);               /* final stays final */
	assert(!stopped && !asked);      /* cancelled before its claim, it never runs */
	assert(due);                     /* nor before it is due */
	assert(holder == NOBODY || lapsed);  /* one live owner */
	token++;
	attempt++;
	state = running;
	lease = 0;
	lapsed = false;
	holder = me;
	holder_lives = true;
	mine = token;
	printf("Worker %d: claims the job, token %d, attempt %d\n", me, token, attempt)
}

inline send() {
	messages = messages | BIT(number);
	printf("%e %d: sends a message, generation %d\n", role, me, number)
}

inline send_letter() {
	letter = (state == dead && generation == number -> true : letter);
	printf("%e %d: sends the dead letter\n", role, me)
}

inline clear_entry() {
	if
	:: DEAD_AS_SEEN ->
		entry = false;
		printf("%e %d: clears the entry\n", role, me)
	:: else
	fi;
	assert(NOT_LOST)
}

#ifdef CLEAR_BEFORE_LETTER
#define PAY clear_entry()
#define CLOSE send_letter()
#else
#define PAY send_letter()
#define CLOSE clear_entry()
#endif

inline die() {
	faults--;
	holder_lives = (holder == me -> false : holder_lives);
	leader_lives = (leader == me -> false : leader_lives);
	printf("%e %d: DIES\n", role, me)
}

/* --- the processes ---------------------------------------------------------------------------- */

active [WORKERS] proctype worker() {
	mtype role = Worker;
	byte me = _pid + 1, number, mine, beats;
rest:
	number = 0; mine = 0; beats = 0;
end_idle:
	if
	:: d_step { messages & BIT(0) -> number = 0 }
	:: d_step { messages & BIT(1) -> number = 1 }
	:: d_step { messages & BIT(2) -> number = 2 }
	:: d_step { messages & BIT(3) -> number = 3 }
	fi;
	atomic {
		if
		:: CLAIMABLE -> claim()
		:: !CLAIMABLE && number == generation && ((state == waiting && !due) || state == running) ->
			goto rest            /* hidden, and comes again */
		:: else ->
			messages = messages & ~BIT(number);
			printf("Worker %d: drops a message, generation %d\n", me, number);
			goto rest
		fi
	}
working:
	if
	:: atomic { beats < HEARTBEATS ->
		beats++;
		if
		:: OWNED ->
			lease++;
			lapsed = false;
			printf("Worker %d: heartbeat\n", me);
			goto working
		:: else -> goto rest
		fi }
	:: atomic {
		if
		:: OWNED ->
			assert(holder == me);    /* who holds no attempt commits none */
			if
			:: end_attempt(succeeded)
			:: end_badly()
			fi
		:: else -> goto rest
		fi;
		if
		:: state == waiting -> goto resend
		:: state == dead -> goto settle
		:: else -> goto rest
		fi }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
resend:
	if
	:: atomic { send(); goto rest }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
settle:
	if
	:: atomic { PAY }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
	if
	:: atomic { CLOSE }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
	goto rest
}

active [SCHEDULERS] proctype scheduler() {
	mtype role = Scheduler;
	byte me = _pid + 1, number, seen_token, seen_lease;
rest:
	number = 0; seen_token = 0; seen_lease = 0;
end_idle:
	if
	:: d_step { SWEEPS && CAN_LEAD && HAS_WORK ->
		leader = me;
		leader_lives = true;
		leader_lapsed = false;
		printf("Scheduler %d: leads\n", me) }
	fi;
	if
	:: atomic {
		if
		:: entry && IS_MISSED -> number = generation; goto dispatch
		:: entry && IS_LOST -> seen_token = token; seen_lease = lease; goto recover
		:: entry && IS_FINAL -> number = generation; goto settle
		:: else -> goto release
		fi }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
dispatch:
	if
	:: atomic { send() }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
	if
	:: atomic {
		sent = (state == waiting && generation == number -> true : sent);
		goto release }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
recover:
	if
	:: atomic {
		if
		:: LOST_AS_SEEN ->
			assert(lapsed);          /* only a lease that is over is taken away */
			end_badly();
			if
			:: state == waiting -> goto resend
			:: state == dead -> goto settle
			:: else
			fi
		:: else
		fi;
		goto release }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
resend:
	if
	:: atomic { send(); goto release }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
settle:
	if
	:: atomic { PAY }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
	if
	:: atomic { CLOSE }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
release:
	if
	:: atomic {
		leader = (leader == me -> NOBODY : leader);
		leader_lives = (leader == NOBODY -> false : leader_lives);
		leader_lapsed = (leader == NOBODY -> false : leader_lapsed);
		goto rest }
	:: atomic { faults > 0 -> die(); goto rest }
	fi
}

/* Puts the job: due soon and sent at once, or for later. */
active proctype submitter() {
	mtype role = Operator;
	byte me = _pid + 1, number = 0;
	if
	:: atomic { state = waiting; entry = true; sent = true; assert(NOT_LOST) }
	:: atomic { state = waiting; entry = true; assert(NOT_LOST); goto done }
	fi;
	if
	:: atomic { send() }
	:: atomic { faults > 0 -> die() }
	fi;
done:	skip
}

/* Cancels once, whenever it likes, or never. */
active proctype canceller() {
	if
	:: skip
	:: goto done
	fi;
end_idle:
	d_step { state == waiting || state == running ->
		if
		:: state == waiting ->
			state = cancelled;
			stopped = true;
			entry = false;
			sent = false;
			due = false;
			printf("Operator: cancels the job, which waits\n")
		:: else ->
			asked = true;
			printf("Operator: asks the running job to stop\n")
		fi;
		assert(NOT_LOST)
	}
done:	skip
}

#if REDRIVES > 0
/* Sends it round again, when it is dead or cancelled, or never. */
active proctype redriver() {
	mtype role = Operator;
	byte me = _pid + 1, number, left = REDRIVES;
rest:
	if
	:: number = 0
	:: number = 0; goto done
	fi;
end_idle:
	if
	:: d_step { left > 0 && (state == dead || state == cancelled) ->
		left--;
		generation++;
		number = generation;
		attempt = 0;
		asked = false;
		stopped = false;
		letter = false;
		state = waiting;
		sent = true;
		entry = true;
		printf("Operator: redrives the job, generation %d\n", generation) }
	fi;
	if
	:: atomic { send(); goto rest }
	:: atomic { faults > 0 -> die(); goto rest }
	fi;
done:	skip
}
#endif

/* Time, and the faults that are nobody's step. */
active proctype clock() {
end_idle:
	do
	:: atomic { state == waiting && !due -> due = true; printf("Clock: the job is due\n") }
	:: atomic { state == running && !lapsed && (!holder_lives || faults > 0) ->
		faults = (holder_lives -> faults - 1 : faults);
		lapsed = true;
		printf("Clock: the job's lease is over\n") }
#ifndef LEADER_FOR_EVER
	:: atomic { leader != NOBODY && !leader_lapsed && (!leader_lives || faults > 0) ->
		faults = (leader_lives -> faults - 1 : faults);
		leader_lapsed = true;
		printf("Clock: the leader's lease is over\n") }
#endif
	:: atomic { faults > 0 && messages != 0 ->
		faults--;
		messages = 0;
		printf("FAULT: the queue is purged\n") }
	od
}

#ifdef LIVENESS
/* Where nobody has anything to do, time goes by all the same: so to be stuck is a cycle, too. */
active proctype eternity() {
	do
	:: true -> skip
	od
}
#endif
