// Package find answers where things of a MindSpore network are: from a line of the
// script, an operator, a parameter or a dump file to the others. It reads the graphs
// that MindSpore saved beside the dumps, and the names of the dumps; no tensor is
// read.
//
//	q, err := find.ParseQuery("resnet.py:88", find.Auto)
//	answer, err := find.Run(ctx, q, find.Options{Paths: []string{"dump"}})
package find
