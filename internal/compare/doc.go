// Package compare says whether the tensors of an NPU run agree with a reference run, and if
// they do not, which operator went wrong first and why.
//
// A comparison has three steps, a package each, and imports point from the last to the first:
//
//	plan      two runs -> pairs of tensors in execution order, as a value
//	execute   pairs -> rows: a row is a function of its pair and the options. No fact of the run
//	          goes into it, so rows are the same in any order, on any machine, in any shard
//	conclude  rows -> rounds -> report: a verdict is a function of the rows of one round and of
//	          the data flow in it (Options.judgeRounds, also for judge, recomputation and ranks),
//	          a report a function of its rounds (Options.sumUp, also for merge)
//
// Run puts the steps together. A record.Row holds the facts of its pair, and record.Verdict,
// which is zero before the last step. The document compare.json holds what the last step needs:
// 'judge' applies it to a document, 'merge' to the rounds of several documents.
//
// The way of a pair, from the flag to the line of the verdict:
//
//	cmd/dumptool/cmd_compare.go   flags become conclude.Options
//	plan/plan.go, plan/side.go    both runs are listed (package dumpdir)
//	plan/rounds.go                rounds are paired; a shard takes its own
//	plan/match.go                 tensors are paired by name (package pair): a Pair, its Row empty
//	plan/order.go                 rows get their place, operators their inputs
//	execute/execute.go            each pair is a job of a worker pool
//	execute/pair.go               the pair is opened, aligned (package align), measured in one pass
//	                              (package metrics) and judged by limits: Row.Pair; a failing pair is
//	                              examined for patterns (package diagnose): Row.Patterns
//	conclude/conclude.go          each round is judged (packages diagnose, verdict, statistics):
//	                              Row.Verdict, Round.Findings
//	conclude/sum_up.go            rounds become the report
//	record/document.go            the report is written as compare.json; package report has the
//	                              other forms, report/compare_verdict.go the line of the verdict
package compare
