// Package dumpdir opens what a user names as one side of a comparison, or as the
// folder to look into, as a Run: who wrote it, its rounds (rank, step, graph,
// model), the operators of each round in execution order with their tensors, who
// feeds whom, and what is wrong with the tree.
//
// Open lists. It decides by the names of folders and files, and reads only the
// small files beside the dumps: mapping.csv, execution orders, tables of
// statistics and the keys of dump.json. ReadHeaders opens the files whose tensors
// only they themselves list. No tensor data is read.
//
//	run, err := dumpdir.Open(ctx, []string{dir}, dumpdir.Options{})
//	for _, round := range run.Rounds {
//		for _, op := range round.Ops { ... op.Tensors ... }
//	}
//
// The producers are a table, a file each: adding one takes a file that says which
// folders it writes, what their names stand for, and which side files it leaves,
// and a line in producers. The sources of the execution order are a table too.
//
// PairRounds says which rounds of two runs belong together. Which operators inside
// them do is up to compare/pair.
package dumpdir
