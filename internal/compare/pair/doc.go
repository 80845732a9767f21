// Package pair decides which tensors of two runs are compared with each
// other, and in which order. It knows names and small side files (name maps,
// fusion graphs, consumer maps, order files, limits); it opens no file and
// reads no tensor.
//
// Nothing is guessed: two tensors are a pair when a rule leaves each exactly
// one partner. Several partners are an ambiguity, with the candidates.
package pair
