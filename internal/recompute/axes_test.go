package recompute

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// dense is an array of the slow reference implementations.
type dense struct {
	shape tensor.Shape
	v     []float64
}

// at returns an element by its coordinates.
func (d dense) at(coord []int64) float64 {
	i := int64(0)
	for k, c := range coord {
		i = i*d.shape[k] + c
	}
	return d.v[i]
}

// fill makes an array from a function of the coordinates.
func fill(shape tensor.Shape, f func(coord []int64) float64) dense {
	d := dense{shape: shape}
	for i := range shape.Elements() {
		d.v = append(d.v, f(shape.Coordinates(i)))
	}
	return d
}

// line returns the elements along an axis through coordinates.
func (d dense) line(coord []int64, axis int) (all []float64) {
	at := slices.Clone(coord)
	for i := range d.shape[axis] {
		at[axis] = i
		all = append(all, d.at(at))
	}
	return all
}

// each replaces every line along an axis by another line of n elements.
func (d dense) each(axis int, n int64, f func(line []float64) []float64) dense {
	shape := slices.Clone(d.shape)
	shape[axis] = n
	return fill(shape, func(coord []int64) float64 { return f(d.line(coord, axis))[coord[axis]] })
}

// without drops an axis of length 1.
func (d dense) without(axis int) dense {
	return dense{slices.Delete(slices.Clone(d.shape), axis, axis+1), d.v}
}

// part returns the elements from up to but excluding to along an axis.
func (d dense) part(axis int, from, to int64) dense {
	return d.each(axis, to-from, func(line []float64) []float64 { return line[from:to] })
}

func (d dense) tensor(dtype tensor.DType) *Tensor {
	return &Tensor{DType: dtype, Stored: dtype, Shape: d.shape, Source: numbers{d.v, dtype}}
}

// reduceLines computes one number from every line.
func reduceLines(f func(line []float64) float64) func(x dense, axis int) []dense {
	return func(x dense, axis int) []dense {
		return []dense{x.each(axis, 1, func(line []float64) []float64 { return []float64{f(line)} }).without(axis)}
	}
}

// mapLines computes from every line a line of the same length.
func mapLines(f func(line []float64) []float64) func(x dense, axis int) []dense {
	return func(x dense, axis int) []dense { return []dense{x.each(axis, x.shape[axis], f)} }
}

func total(line []float64, f func(x float64) float64) (sum float64) {
	for _, x := range line {
		sum += f(x)
	}
	return sum
}

func itself(x float64) float64 { return x }

func mapLine(line []float64, f func(x float64) float64) (all []float64) {
	for _, x := range line {
		all = append(all, f(x))
	}
	return all
}

// axisCase is an operator along an axis, with the names of its documentation: its outputs for an x with three axes of
// different lengths, and its further inputs.
type axisCase struct {
	opType, attrs string
	// attr is the attribute with the axis. It is empty if the axis is input number index.
	attr  string
	index int
	more  func(axis int) []*Tensor
	of    func(x dense, axis int) []dense
	whole bool // outputs are integers
	// grown: the axis counts in the output, which has one axis more than x.
	grown bool
}

func axisCases(t *testing.T) []axisCase {
	t.Helper()
	rising := func(axis int) []*Tensor {
		n := axisInput().shape[axis]
		return []*Tensor{fill(tensor.Shape{n}, func(coord []int64) float64 { return float64(1 + coord[0]) }).tensor(tensor.Float32)}
	}
	moments := func(line []float64) (mean, variance float64) {
		n := float64(len(line))
		mean = total(line, itself) / n
		return mean, total(line, func(x float64) float64 { return (x - mean) * (x - mean) }) / n
	}
	softmax := func(line []float64) []float64 {
		sum := total(line, math.Exp)
		return mapLine(line, func(x float64) float64 { return math.Exp(x) / sum })
	}
	argmax := func(line []float64) float64 { return float64(slices.Index(line, slices.Max(line))) }
	argmin := func(line []float64) float64 { return float64(slices.Index(line, slices.Min(line))) }
	cumsum := func(line []float64) []float64 {
		sum := 0.0
		return mapLine(line, func(x float64) float64 { sum += x; return sum })
	}
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gated := func(gate func(a, b float64) float64) func(x dense, axis int) []dense {
		return func(x dense, axis int) []dense {
			half := x.shape[axis] / 2
			return []dense{x.each(axis, half, func(line []float64) (all []float64) {
				for i := range half {
					all = append(all, gate(line[i], line[i+half]))
				}
				return all
			})}
		}
	}
	placed := func(f func(line []float64) float64) func(x dense, axis int) []dense {
		return func(x dense, axis int) []dense {
			return append(reduceLines(f)(x, axis), reduceLines(func(line []float64) float64 { return float64(slices.Index(line, f(line))) })(x, axis)...)
		}
	}
	cumulated := func(f func(line []float64) float64) func(x dense, axis int) []dense {
		upTo := func(line []float64, of func(part []float64) float64) (all []float64) {
			for i := range line {
				all = append(all, of(line[:i+1]))
			}
			return all
		}
		return func(x dense, axis int) []dense {
			places := mapLines(func(line []float64) []float64 {
				return upTo(line, func(part []float64) float64 { return float64(slices.Index(part, f(part))) })
			})
			return append(mapLines(func(line []float64) []float64 { return upTo(line, f) })(x, axis), places(x, axis)...)
		}
	}
	sum := reduceLines(func(line []float64) float64 { return total(line, itself) })
	return []axisCase{
		{opType: "SoftmaxV2", attr: "axes", of: mapLines(softmax)}, {opType: "Softmax", attr: "dim", of: mapLines(softmax)},
		{opType: "LogSoftmaxV2", attr: "axes", of: mapLines(func(line []float64) []float64 { return mapLine(softmax(line), math.Log) })},
		{opType: "NanSum", attr: "axes", of: sum}, {opType: "NanMean", attr: "axes", of: reduceLines(func(line []float64) float64 { return total(line, itself) / float64(len(line)) })},
		{opType: "NanMedian", attr: "axes", of: reduceLines(func(line []float64) float64 { return slices.Sorted(slices.Values(line))[(len(line)-1)/2] })},
		{opType: "VarMean", attrs: "correction=0", attr: "axes", of: func(x dense, axis int) []dense {
			return append(reduceLines(func(line []float64) float64 { _, v := moments(line); return v })(x, axis), reduceLines(func(line []float64) float64 { m, _ := moments(line); return m })(x, axis)...)
		}},
		{opType: "StdMean", attrs: "correction=0", attr: "axes", of: func(x dense, axis int) []dense {
			return append(reduceLines(func(line []float64) float64 { _, v := moments(line); return math.Sqrt(v) })(x, axis), reduceLines(func(line []float64) float64 { m, _ := moments(line); return m })(x, axis)...)
		}},
		{opType: "Diff", attr: "axis", of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, x.shape[axis]-1, func(line []float64) (all []float64) {
				for i := range len(line) - 1 {
					all = append(all, line[i+1]-line[i])
				}
				return all
			})}
		}},
		{opType: "LogCumsumExp", attr: "axes", of: mapLines(func(line []float64) []float64 { return mapLine(cumsum(mapLine(line, math.Exp)), math.Log) })},
		{opType: "Trapezoid", attrs: "dx=1", attr: "axis", of: reduceLines(func(line []float64) float64 { return total(line, itself) - (line[0]+line[len(line)-1])/2 })},
		{opType: "ReduceSumD", attr: "axes", of: sum}, {opType: "ReduceSum", index: 1, of: sum},
		{opType: "ReduceMeanD", attr: "axes", of: reduceLines(func(line []float64) float64 { return total(line, itself) / float64(len(line)) })},
		{opType: "ReduceMaxD", attr: "axes", of: reduceLines(slices.Max[[]float64])}, {opType: "ReduceMin", index: 1, of: reduceLines(slices.Min[[]float64])},
		{opType: "ReduceProdD", attr: "axes", of: reduceLines(func(line []float64) float64 {
			p := 1.0
			for _, x := range line {
				p *= x
			}
			return p
		})},
		{opType: "ArgMaxD", attr: "dimension", of: reduceLines(argmax), whole: true}, {opType: "ArgMaxV2", index: 1, of: reduceLines(argmax), whole: true},
		{opType: "ArgMinD", attr: "dimension", of: reduceLines(argmin), whole: true}, {opType: "ArgMin", index: 1, of: reduceLines(argmin), whole: true},
		{opType: "Median", attr: "dim", of: placed(func(line []float64) float64 { return slices.Sorted(slices.Values(line))[(len(line)-1)/2] })},
		{opType: "KthValue", attrs: "k=2", attr: "dim", of: placed(func(line []float64) float64 { return slices.Sorted(slices.Values(line))[1] })},
		{opType: "Mode", attr: "dim", of: placed(slices.Min[[]float64])},
		{opType: "ArgMaxWithValue", attr: "axis", of: func(x dense, axis int) []dense {
			return append(reduceLines(argmax)(x, axis), reduceLines(slices.Max[[]float64])(x, axis)...)
		}},
		{opType: "ArgMinWithValue", attr: "axis", of: func(x dense, axis int) []dense {
			return append(reduceLines(argmin)(x, axis), reduceLines(slices.Min[[]float64])(x, axis)...)
		}},
		{opType: "Cummax", attr: "dim", of: cumulated(slices.Max[[]float64])}, {opType: "Cummin", attr: "dim", of: cumulated(slices.Min[[]float64])},
		{opType: "CumsumD", attrs: "exclusive=0 reverse=0", attr: "axis", of: mapLines(cumsum)}, {opType: "Cumsum", attrs: "exclusive=0 reverse=0", index: 1, of: mapLines(cumsum)},
		{opType: "ReduceStd", attrs: "correction=1", attr: "dim", of: reduceLines(func(line []float64) float64 { return math.Sqrt(varianceOf(line, 1)) })},
		{opType: "ReduceVar", attrs: "correction=0", attr: "dim", of: reduceLines(func(line []float64) float64 { return varianceOf(line, 0) })},
		{opType: "LpNorm", attrs: "p=1", attr: "axes", of: reduceLines(func(line []float64) float64 { return total(line, math.Abs) })},
		{opType: "LpNormalize", attrs: "p=1 epsilon=1e-12", attr: "dim", of: mapLines(func(line []float64) []float64 {
			size := total(line, math.Abs)
			return mapLine(line, func(x float64) float64 { return x / size })
		})},
		{opType: "ReduceLogSumExp", index: 1, of: reduceLines(func(line []float64) float64 { return math.Log(total(line, math.Exp)) })},
		{opType: "ReduceAllD", attr: "axes", of: reduceLines(func([]float64) float64 { return 1 }), whole: true}, {opType: "ReduceAnyD", attr: "axes", of: reduceLines(func([]float64) float64 { return 1 }), whole: true},
		{opType: "CountNonzero", attr: "dim", of: reduceLines(func(line []float64) float64 { return float64(len(line)) }), whole: true},
		{opType: "AMinMax", attr: "dim", of: func(x dense, axis int) []dense {
			return append(reduceLines(slices.Min[[]float64])(x, axis), reduceLines(slices.Max[[]float64])(x, axis)...)
		}},
		{opType: "Softmin", attr: "dim", of: mapLines(func(line []float64) []float64 { return softmax(mapLine(line, func(x float64) float64 { return -x })) })},
		{opType: "CumprodD", attrs: "exclusive=0 reverse=0", attr: "axis", of: mapLines(func(line []float64) (all []float64) {
			p := 1.0
			return mapLine(line, func(x float64) float64 { p *= x; return p })
		})},
		{opType: "Sort", attrs: "descending=0", attr: "axis", of: func(x dense, axis int) []dense {
			return append(mapLines(func(line []float64) []float64 { return slices.Sorted(slices.Values(line)) })(x, axis), mapLines(places)(x, axis)...)
		}},
		{opType: "ArgSort", attrs: "descending=0", attr: "dim", of: mapLines(places), whole: true},
		{opType: "CosineSimilarity", attrs: "epsilon=1e-8", attr: "dim", more: func(int) []*Tensor { return []*Tensor{axisInput().tensor(tensor.Float32)} }, of: reduceLines(func([]float64) float64 { return 1 })},
		{opType: "GatherElements", attr: "dim", more: func(int) []*Tensor { return []*Tensor{ones(axisInput().shape).tensor(tensor.Int32)} }, of: mapLines(func(line []float64) []float64 {
			return slices.Repeat(line[1:2], len(line))
		})},
		{opType: "ScatterElements", attrs: "reduction=none", attr: "axis", more: func(axis int) []*Tensor {
			first := ones(axisInput().part(axis, 0, 1).shape)
			return []*Tensor{first.tensor(tensor.Int32), first.tensor(tensor.Float32)}
		}, of: mapLines(func(line []float64) []float64 { return slices.Replace(slices.Clone(line), 1, 2, 1) })},
		{opType: "ScatterReduce", attrs: "reduce=amax include_self=0", attr: "axis", more: func(axis int) []*Tensor {
			first := ones(axisInput().part(axis, 0, 1).shape)
			return []*Tensor{first.tensor(tensor.Int32), first.tensor(tensor.Float32)}
		}, of: mapLines(func(line []float64) []float64 { return slices.Replace(slices.Clone(line), 1, 2, 1) })},
		{opType: "IndexAdd", attrs: "alpha=2", attr: "dim", more: rowOfOnes, of: mapLines(func(line []float64) []float64 { return slices.Replace(slices.Clone(line), 1, 2, line[1]+2) })},
		{opType: "IndexCopy", attrs: "alpha=1", attr: "dim", more: rowOfOnes, of: mapLines(func(line []float64) []float64 { return slices.Replace(slices.Clone(line), 1, 2, 1) })},
		{opType: "Roll", attrs: "shifts=1", attr: "dims", of: mapLines(func(line []float64) []float64 { return append(slices.Clone(line[len(line)-1:]), line[:len(line)-1]...) })},
		{opType: "ReverseV2D", attr: "axis", of: mapLines(func(line []float64) []float64 {
			turned := slices.Clone(line)
			slices.Reverse(turned)
			return turned
		})},
		{opType: "RepeatInterleave", attr: "axis", more: func(int) []*Tensor { return []*Tensor{tensorOf(t, "int 1", 2)} }, of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, 2*x.shape[axis], func(line []float64) (all []float64) {
				for _, v := range line {
					all = append(all, v, v)
				}
				return all
			})}
		}},
		{opType: "SliceAxis", attrs: "start=1 end=2 step=1", attr: "dim", of: func(x dense, axis int) []dense { return []dense{x.part(axis, 1, 2)} }},
		{opType: "RepeatEach", attr: "axis", of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, 2*x.shape[axis], func(line []float64) (all []float64) {
				for _, v := range line {
					all = append(all, v, v)
				}
				return all
			})}
		}},
		{opType: "Narrow", attrs: "start=1 length=1", attr: "dim", of: func(x dense, axis int) []dense { return []dense{x.part(axis, 1, 2)} }},
		{opType: "SelectAt", attrs: "at=1", attr: "dim", of: reduceLines(func(line []float64) float64 { return line[1] })},
		{opType: "Unfold", attrs: "size=2 step=1", attr: "dim", of: func(x dense, axis int) []dense {
			shape := append(slices.Clone(x.shape), 2)
			shape[axis]--
			return []dense{fill(shape, func(coord []int64) float64 {
				at := slices.Clone(coord[:len(coord)-1])
				at[axis] += coord[len(coord)-1]
				return x.at(at)
			})}
		}},
		{opType: "L2Normalize", attrs: "epsilon=0", attr: "axis", of: mapLines(func(line []float64) []float64 {
			size := math.Sqrt(total(line, func(x float64) float64 { return x * x }))
			return mapLine(line, func(x float64) float64 { return x / size })
		})},
		{opType: "RmsNorm", attrs: "epsilon=0", attr: "axes", of: func(x dense, axis int) []dense {
			root := func(line []float64) float64 {
				return math.Sqrt(total(line, func(x float64) float64 { return x * x }) / float64(len(line)))
			}
			return []dense{x.each(axis, x.shape[axis], func(line []float64) []float64 {
				return mapLine(line, func(x float64) float64 { return x / root(line) })
			}), x.each(axis, 1, func(line []float64) []float64 { return []float64{1 / root(line)} })}
		}},
		{opType: "LayerNorm", attrs: "epsilon=1", attr: "axes", of: func(x dense, axis int) []dense {
			one := func(f func(mean, variance float64) float64) dense {
				return x.each(axis, 1, func(line []float64) []float64 { return []float64{f(moments(line))} })
			}
			return []dense{x.each(axis, x.shape[axis], func(line []float64) []float64 {
				mean, variance := moments(line)
				return mapLine(line, func(x float64) float64 { return (x - mean) / math.Sqrt(variance+1) })
			}), one(func(mean, _ float64) float64 { return mean }), one(func(_, variance float64) float64 { return variance })}
		}},
		{opType: "SoftmaxGrad", attr: "axes", more: func(int) []*Tensor { return []*Tensor{axisInput().tensor(tensor.Float32)} }, of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, x.shape[axis], func(y []float64) []float64 { // dy is y
				sum := total(y, func(x float64) float64 { return x * x })
				return mapLine(y, func(x float64) float64 { return (x - sum) * x })
			})}
		}},
		// dy is 1 for each line, or x.
		{opType: "LogSumExpGrad", attr: "axes", more: func(axis int) []*Tensor {
			return []*Tensor{axisInput().each(axis, 1, func(line []float64) []float64 { return []float64{math.Log(total(line, math.Exp))} }).tensor(tensor.Float32), onesAlong(axis)}
		}, of: mapLines(softmax)},
		{opType: "LpNormGrad", attrs: "p=2", attr: "axes", more: func(axis int) []*Tensor {
			return []*Tensor{axisInput().each(axis, 1, func(line []float64) []float64 { return []float64{length(line)} }).tensor(tensor.Float32), onesAlong(axis)}
		}, of: mapLines(func(line []float64) []float64 {
			return mapLine(line, func(x float64) float64 { return x / length(line) })
		})},
		{opType: "VarGrad", attrs: "correction=1", attr: "axes", more: func(axis int) []*Tensor { return []*Tensor{onesAlong(axis)} }, of: mapLines(func(line []float64) []float64 {
			mean, _ := moments(line)
			return mapLine(line, func(x float64) float64 { return 2 * (x - mean) / (float64(len(line)) - 1) })
		})},
		{opType: "LogSoftmaxGrad", attr: "axes", more: func(int) []*Tensor { return []*Tensor{axisInput().tensor(tensor.Float32)} }, of: mapLines(func(line []float64) []float64 { // y is dy
			return mapLine(line, func(x float64) float64 { return x - math.Exp(x)*total(line, itself) })
		})},
		{opType: "ReduceSumGrad", attr: "axes", grown: true, of: func(x dense, axis int) []dense { return []dense{x.repeated(axis, 1)} }},
		{opType: "ReduceMeanGrad", attr: "axes", grown: true, of: func(x dense, axis int) []dense { return []dense{x.repeated(axis, 1.0/3)} }},
		{opType: "EmbeddingDenseGrad", attr: "axis", more: func(axis int) []*Tensor { // the last index first
			n := axisInput().shape[axis]
			return []*Tensor{fill(tensor.Shape{n}, func(coord []int64) float64 { return float64(n - 1 - coord[0]) }).tensor(tensor.Int32)}
		}, of: mapLines(func(line []float64) []float64 {
			slices.Reverse(line)
			return line
		})},
		{opType: "SwiGlu", attr: "dim", of: gated(func(a, b float64) float64 { return a * sigma(a) * b })},
		{opType: "GeGluV2", attrs: "approximate=0 activate_left=0", attr: "dim", of: func(x dense, axis int) []dense {
			gelu := func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }
			return append(gated(func(a, b float64) float64 { return a * gelu(b) })(x, axis), gated(func(_, b float64) float64 { return gelu(b) })(x, axis)...)
		}},
		{opType: "AscendAntiQuantV2", attrs: "sqrt_mode=0", attr: "axis", more: rising, of: mapLines(func(line []float64) (all []float64) {
			for i, v := range line {
				all = append(all, v*float64(1+i))
			}
			return all
		})},
		{opType: "Glu", attr: "axis", of: gated(func(a, b float64) float64 { return a * sigma(b) })},
		{opType: "TopKD", attrs: "largest=1 sorted=1", attr: "dim", of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, 2, func(line []float64) []float64 {
				return slices.SortedFunc(slices.Values(line), func(a, b float64) int { return cmp.Compare(b, a) })[:2]
			})}
		}},
		{opType: "SplitD", attr: "split_dim", of: func(x dense, axis int) []dense { return []dense{x.part(axis, 0, 1), x.part(axis, 1, x.shape[axis])} }},
		{opType: "Unpack", attr: "axis", of: func(x dense, axis int) (all []dense) {
			for i := range x.shape[axis] {
				all = append(all, x.part(axis, i, i+1).without(axis))
			}
			return all
		}},
		{opType: "GatherV2D", attr: "axis", more: func(int) []*Tensor { return []*Tensor{tensorOf(t, "int 2", 1, 0)} }, of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, 2, func(line []float64) []float64 { return []float64{line[1], line[0]} })}
		}},
		{opType: "GatherV2", index: 2, more: func(int) []*Tensor { return []*Tensor{tensorOf(t, "int 2", 1, 0)} }, of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, 2, func(line []float64) []float64 { return []float64{line[1], line[0]} })}
		}},
		{opType: "ConcatD", attr: "concat_dim", more: func(axis int) []*Tensor { return []*Tensor{axisInput().part(axis, 1, 2).tensor(tensor.Float32)} }, of: func(x dense, axis int) []dense {
			return []dense{x.each(axis, x.shape[axis]+1, func(line []float64) []float64 { return append(line, line[1]) })}
		}},
		{opType: "Pack", attr: "axis", grown: true, more: func(int) []*Tensor { return []*Tensor{axisInput().tensor(tensor.Float32)} }, of: func(x dense, axis int) []dense {
			return []dense{fill(slices.Insert(slices.Clone(x.shape), axis, 2), func(coord []int64) float64 {
				return x.at(slices.Delete(slices.Clone(coord), axis, axis+1))
			})}
		}},
		{opType: "BiasAdd", attr: "axis", more: func(axis int) []*Tensor {
			return []*Tensor{fill(axisInput().shape[axis:axis+1], func(coord []int64) float64 { return float64(coord[0]) }).tensor(tensor.Float32)}
		}, of: func(x dense, axis int) []dense {
			return []dense{fill(x.shape, func(coord []int64) float64 { return x.at(coord) + float64(coord[axis]) })}
		}},
	}
}

// ones returns an array of ones.
func ones(shape tensor.Shape) dense { return fill(shape, func([]int64) float64 { return 1 }) }

// length is the Euclidean norm of a line.
func length(line []float64) float64 {
	return math.Sqrt(total(line, func(x float64) float64 { return x * x }))
}

// onesAlong has 1 for each line along an axis.
func onesAlong(axis int) *Tensor {
	return ones(axisInput().part(axis, 0, 1).without(axis).shape).tensor(tensor.Float32)
}

// repeated returns the array repeated three times along a new axis, times a factor.
func (d dense) repeated(axis int, factor float64) dense {
	return fill(slices.Insert(slices.Clone(d.shape), axis, 3), func(coord []int64) float64 {
		return factor * d.at(slices.Delete(slices.Clone(coord), axis, axis+1))
	})
}

// rowOfOnes returns the index of row 1 along an axis, and a row of ones.
func rowOfOnes(axis int) []*Tensor {
	return []*Tensor{ones(tensor.Shape{1}).tensor(tensor.Int32), ones(axisInput().part(axis, 0, 1).shape).tensor(tensor.Float32)}
}

// varianceOf is the variance of a line; correction is subtracted from the number of elements.
func varianceOf(line []float64, correction float64) (v float64) {
	mean := 0.0
	for _, x := range line {
		mean += x / float64(len(line))
	}
	for _, x := range line {
		v += (x - mean) * (x - mean) / (float64(len(line)) - correction)
	}
	return v
}

// places returns the indices of the elements of a line in ascending order.
func places(line []float64) (all []float64) {
	order := make([]int, len(line))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(line[i], line[k]) })
	for _, i := range order {
		all = append(all, float64(i))
	}
	return all
}

// axisInput has three axes of different even lengths, and no equal numbers.
func axisInput() dense {
	return fill(tensor.Shape{4, 2, 6}, func(coord []int64) float64 {
		return float64(float32(1.5 * math.Sin(float64(7*(12*coord[0]+6*coord[1]+coord[2])+1))))
	})
}

// TestAxes: every formula along an axis accepts the axis from -rank to rank-1, and no other number means the same
// axis.
func TestAxes(t *testing.T) {
	t.Parallel()
	for _, c := range axisCases(t) {
		x := axisInput()
		rank := len(x.shape)
		if c.grown {
			rank++
		}
		for axis := range rank {
			outs := c.of(x, axis)
			for _, said := range []int{axis, axis - rank} {
				if v := c.judge(t, x, outs, axis, said); v.Status != OK {
					t.Errorf("%s, axis %d: %s %s %s %+v", c.opType, said, v.Status, v.Reason, v.Why, v.Outputs)
				}
			}
			other := (axis+1)%rank - rank
			if v := c.judge(t, x, outs, axis, other); v.Status != Wrong && v.Status != Undecided && !c.grown {
				t.Errorf("%s, axis %d as %d: %s with %v", c.opType, axis, other, v.Status, v.Attributes)
			}
			for _, outside := range []int{-rank - 1, rank} {
				if v := c.judge(t, x, outs, axis, outside); v.Status != Undecided || v.Reason != NoAttributes {
					t.Errorf("%s, axis %d of %d axes: %s %s", c.opType, outside, rank, v.Status, v.Reason)
				}
			}
		}
	}
}

// judge judges the outputs along an axis when the attribute gives another one.
func (c *axisCase) judge(t *testing.T, x dense, outs []dense, axis, said int) *Verdict {
	t.Helper()
	inputs := []*Tensor{x.tensor(tensor.Float32)}
	if c.more != nil {
		inputs = append(inputs, c.more(axis)...)
	}
	raw := attributesOf(c.attrs)
	if c.attr != "" {
		raw[c.attr] = Attribute{Number(float64(said)), FromCall}
	} else {
		inputs = slices.Insert(inputs, c.index, tensorOf(t, "int 1", float64(said)))
	}
	var outputs []*Tensor
	for _, y := range outs {
		d := tensor.Float32
		if c.whole {
			d = tensor.Int32
		}
		outputs = append(outputs, y.tensor(d))
	}
	row := FormulaOf(c.opType)
	if row.Name == "" {
		row.Name = c.opType
	}
	op, warnings, err := Bind(row, inputs, outputs, raw)
	if err != nil || len(warnings) > 0 {
		t.Fatal(c.opType, err, warnings)
	}
	no := false
	op.Fused, op.Called = &no, true
	v, err := Judge(context.Background(), op)
	if err != nil {
		t.Fatal(fmt.Sprint(c.opType, " axis ", said), err)
	}
	return v
}

// TestAxesCases: every formula with an axis attribute has a case.
func TestAxesCases(t *testing.T) {
	t.Parallel()
	// These are cases in other tests: a vector has three elements, a quantile is an input, the indexed tensor has another rank, the axes of norms with weights are the
	// last ones, and kernels that quantise support the last two axes only.
	seen := map[string]bool{"OneHot": true, "Index": true, "LayerNormV3": true, "AddRmsNorm": true, "AddLayerNorm": true, "DeepNorm": true, "AscendQuantV2": true,
		"LayerNormGrad": true, "LayerNormGammaGrad": true, "RmsNormGrad": true, "RmsNormGammaGrad": true, "Quantile": true, "Cross": true}
	for _, c := range axisCases(t) {
		seen[cmp.Or(FormulaOf(c.opType).Name, c.opType)] = true
	}
	for _, f := range allFormulas() {
		for _, a := range f.attrs {
			if (slices.Contains(a.names, "axis") || slices.Contains(a.names, "axes")) && !seen[f.name] {
				t.Errorf("formula %s has no case", f.name)
			}
		}
	}
}
