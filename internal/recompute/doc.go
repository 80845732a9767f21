// Package recompute checks whether one execution of an operator computed the right values, without a reference run:
// Judge computes the outputs again in float64 from the dumped inputs and compares them with the dumped outputs.
//
// Each operator is a row of the table in table_*.go: its names, the class of its errors, how it passes on noise (for
// comparisons with a reference), and a formula over arrays. An Array holds the value of each element and two error
// bounds of a healthy NPU: the narrow bound of float32 arithmetic, and the wide bound of float16 arithmetic, function
// tables and HF32 products. Unknown attributes are tried (hypotheses) or fitted to the output.
//
// Start with Operator and Bind (what goes in), Judge (the sequence) and Verdict (what comes out); formula describes a
// row. The package reads no files and no graphs: package check collects tensors and attributes.
package recompute
