// Package perf reads the performance tables of operators that HPAA writes,
// op_perf.csv, op_perf_{core}.csv and perf/{op}.csv, says of every operator where its
// cycles go and how certain that is, and what got worse since a baseline.
//
// What is known of the tables is the list of columns in HPAA's manual, and what the
// event table of the vendor's profiler says of the counters: mcu_cycle is the total, vme
// the vendor's vector instructions and vec those of RISC-V, mme the matrix engine, mte
// all moves; pal_x_y_cycle are cycles in which both ran, syn_wait_cycle is waiting for
// the other cores. The counters are 32-bit registers, which can wrap. How op_perf.csv
// puts cores and runs together is not documented: it is found by comparing it with
// perf/, and nothing is said of seconds unless the clock is given. The classes, their
// thresholds and the formulas are ours.
//
// All numbers of cycles and bytes are exact integers, and every threshold is compared
// exactly.
package perf
