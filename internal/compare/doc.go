// Package compare says whether the tensors of an NPU run agree with those of a
// reference run, and if they do not, which operator went wrong first and why.
//
// It is three functions, and nothing else decides:
//
//  1. A row is a function of its pair and the options. No fact of the run goes into it,
//     no number of pairs, no order: facts computed alone, in any order, on any machine
//     are those of the whole run, byte for byte. Plan.Execute.
//  2. A verdict is a function of the rows of one round and of who feeds whom in it:
//     statuses, reasons, origins, what they damaged. Options.judgeRounds.
//  3. A report is a function of its rounds: headline, counts, coverage, warnings,
//     baseline. Options.sumUp.
//
// A record.Row has the facts of its pair, and record.Verdict, which is zero before the
// second function. The document compare.json holds what the second and the third need:
// 'judge' is these two again, a shard is a run over some rounds, and 'merge' is the third
// over the rounds of several documents.
//
// The way of a pair, from the flag to the line of the verdict:
//
//	cmd/dumptool/cmd_compare.go   flags become Options
//	plan.go, side.go              both runs are listed (package dumpdir)
//	plan_rounds.go                rounds are paired; those of a shard are taken
//	plan_match.go                 tensors are paired by name (package pair): a Pair, its Row empty
//	plan_order.go                 rows get their place, operators what they read
//	execute.go                    a job a pair: opened once, aligned (package align), measured in
//	                              one pass (package metrics), judged by limits: Row.Pair
//	execute.go, examine           a failing pair is looked into (diagnose.Examine): Row.Patterns
//	conclude.go                   each round is judged (package diagnose by package verdict):
//	                              Row.Verdict, Round.Findings
//	sum_up.go                     rounds become the Report
//	record/document.go            the Report is written as compare.json; package report has the
//	                              other views of it, report/compare_verdict.go the line of the verdict
package compare
