// Package hpaa makes tensors of the pieces that HPAA's driver leaves in dump_data:
// it decodes them, joins the pieces of an output and writes each as an .npy file,
// with the logs that HPAA's script writes.
//
// The format of these pieces is not public. What is in them is not guessed: the
// user describes it, in a file with a line for each piece or by a template of their
// names (Piece, Pattern), or Learn finds a description that gives the arrays of the
// vendor's own script in every byte.
//
// What is written is bit for bit the concatenation of the described pieces, and
// every piece that was found is in exactly one place: an array, a line of a log, or
// the list of others. Memory is bounded by workers and blocks, not by files.
package hpaa
