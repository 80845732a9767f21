// Package compare tells whether the tensors of an NPU run agree with a reference run, and if not, which operator went
// wrong first and why. A comparison has three steps, a package each; Run calls them:
//
//	plan      two runs -> pairs of tensors in execution order (packages dumpdir, pair)
//	execute   pairs -> rows: each pair is opened, aligned (align), measured in one pass (metrics) and judged by limits
//	          (limits): Row.Pair; a failing pair is examined for patterns (diagnose): Row.Patterns. A row depends only
//	          on its pair and the options, so rows are equal in any order, in any shard, on any machine
//	conclude  rows -> rounds -> report: the rows and the data flow of a round give its verdicts (judgeRounds; diagnose,
//	          verdict, statistics): Row.Verdict, Round.Findings. The rounds give the report (setTotals)
//
// Package record has rows and report, and their document compare.json, which holds all input of the last step: 'judge'
// repeats the step for a document, 'merge' for the rounds of several documents. Package report has the other output
// formats. Start at cmd/dumptool/cmd_compare.go, then read plan.New, execute.Run and conclude.Report.
package compare
