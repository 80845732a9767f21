package recompute

import (
	"math"
	"slices"

	"dumptool/internal/exact"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// marginLosses are losses with a margin, losses of distributions, and the loss of alignments (CTC).
var marginLosses = []formula{
	lossOf("TripletMarginLoss", "anchor positive negative", func(c *call) *Array {
		distance := func(x, y *Array) *Array {
			d := x.sub(y).plus(c.numberAttribute("epsilon"))
			return d.norm(c.numberAttribute("p"), len(d.shape)-1).reshape(d.shape[:max(0, len(d.shape)-1)]...)
		}
		near, far := distance(c.input(0), c.input(1)), distance(c.input(0), c.input(2))
		if c.isAttributeTrue("swap") {
			far = far.min(distance(c.input(1), c.input(2)))
		}
		return near.sub(far).plus(c.numberAttribute("margin")).atLeast(0)
	}, realNumber("margin", 1), defaultNumber("p", 2), defaultNumber("epsilon", 1e-6), defaultNumber("swap", 0)).
		withNames("triplet_margin_loss", "anchor:anchor! positive! negative! margin=1 p=2 eps:epsilon=1e-6 swap=0 size_average:- reduce:- reduction=mean").withNames("nn.TripletMarginLoss", "anchor:anchor! positive! negative!"),
	lossOf("MarginRankingLoss", "x1 x2 target", func(c *call) *Array {
		return c.input(1).sub(c.input(0)).mul(c.input(2)).plus(c.numberAttribute("margin")).atLeast(0)
	}, realNumber("margin", 0)).withNames("margin_ranking_loss", "input1:x1! input2:x2! target! margin=0 size_average:- reduce:- reduction=mean").withNames("nn.MarginRankingLoss", "input1:x1! input2:x2! target!"),
	lossOf("HingeEmbeddingLoss", "x target", func(c *call) *Array {
		x := c.input(0)
		return isLower(c.input(1), 0).selectWhere(x.neg().plus(c.numberAttribute("margin")).atLeast(0), x)
	}, realNumber("margin", 1)).withNames("hinge_embedding_loss", "target! margin=1 size_average:- reduce:- reduction=mean").withNames("nn.HingeEmbeddingLoss", "target!"),
	lossOf("CosineEmbeddingLoss", "x1 x2 target", func(c *call) *Array {
		const epsilon = 1e-12
		x, y := c.input(0), c.input(1)
		last := max(0, len(x.shape)-1)
		sum := func(x *Array) *Array { return x.sum(min(last, max(0, len(x.shape)-1))).reshape(-1) }
		cosine := sum(x.mul(y)).div(sum(square(x)).plus(epsilon).mul(sum(square(y)).plus(epsilon)).sqrt())
		return isLower(c.input(2), 0).selectWhere(cosine.plus(-c.numberAttribute("margin")).atLeast(0), cosine.neg().plus(1))
	}, realNumber("margin", 0)).withNames("cosine_embedding_loss", "input1:x1! input2:x2! target! margin=0 size_average:- reduce:- reduction=mean").withNames("nn.CosineEmbeddingLoss", "input1:x1! input2:x2! target!"),
	lossOf("SoftMarginLoss", "x target", func(c *call) *Array {
		x := c.input(0).mul(c.input(1)).neg()
		x.atMost(700).exp().trackMagnitudes() // kernels compute the logarithm of 1+exp(x)
		return softplus(x)
	}).
		withNames("soft_margin_loss", "target! size_average:- reduce:- reduction=mean").withNames("nn.SoftMarginLoss", "target!").withNames("SoftMarginLoss", ""),
	lossOf("MultilabelSoftMarginLoss", "x target weight?", func(c *call) *Array {
		x, y := c.input(0), c.input(1)
		each := c.weightLosses(y.mul(softplus(x.neg())).add(y.neg().plus(1).mul(softplus(x))), 2)
		last := max(0, len(each.shape)-1)
		return each.mean(last).reshape(each.shape[:last]...)
	}).withNames("multilabel_soft_margin_loss", "target! weight size_average:- reduce:- reduction=mean").withNames("nn.MultiLabelSoftMarginLoss", "target! weight"),
	lossOf("PoissonNLLLoss", "x target", func(c *call) *Array {
		x, y := c.input(0), c.input(1)
		if c.isAttributeTrue("log_input") {
			return x.exp().sub(y.mul(x))
		}
		return x.sub(y.mul(x.plus(c.numberAttribute("epsilon")).log()))
	}, flagAttribute("log_input", true), defaultNumber("epsilon", 1e-8)).withNames("poisson_nll_loss", "target! log_input=1 full:-==0 size_average:- eps:epsilon=1e-8 reduce:- reduction=mean").withNames("nn.PoissonNLLLoss", "target!"),
	lossOf("GaussianNLLLoss", "x target variance", func(c *call) *Array {
		variance := c.input(2).atLeast(c.numberAttribute("epsilon"))
		return variance.log().add(square(c.input(0).sub(c.input(1))).div(variance)).times(.5)
	}, defaultNumber("epsilon", 1e-6)).withNames("gaussian_nll_loss", "target! var:variance! full:-==0 eps:epsilon=1e-6 reduction=mean").withNames("nn.GaussianNLLLoss", "target! var:variance!"),
	lossOf("MultiMarginLoss", "x target weight?", func(c *call) *Array {
		x := c.input(0)
		if c.err != nil || len(x.shape) != 2 || int64(len(c.input(1).v)) != x.shape[0] {
			return c.fail("logits of shape %s", x.shape)
		}
		classes := int(x.shape[1])
		places := c.toIndices(c.input(1), x.shape[1])
		if c.err != nil {
			return x
		}
		chosen := x.gatherFrom(tensor.Shape{x.shape[0], 1}, 0, func(i int) int { return i*classes + places[i] })
		each := x.sub(chosen).plus(c.numberAttribute("margin")).atLeast(0)
		if c.numberAttribute("p") != 1 {
			each = square(each)
		}
		others := each.gatherFrom(x.shape, 0, func(i int) int {
			if i%classes == places[i/classes] {
				return -1
			}
			return i
		})
		if c.hasInput(2) {
			others = others.mul(c.input(2).gatherFrom(chosen.shape, 0, func(i int) int { return places[i] }))
		}
		return others.sum(1).times(1 / float64(classes)).reshape(-1)
	}, oneOf("p", Number(1), Number(2)), realNumber("margin", 1)).withNames("multi_margin_loss", "target! p=1 margin=1 weight size_average:- reduce:- reduction=mean").withNames("nn.MultiMarginLoss", "target!"),
	lossOf("CTCLoss", "logs targets input_lengths target_lengths", alignmentLoss, defaultNumber("blank", 0), defaultNumber("zero_infinity", 0)).
		withNames("ctc_loss", "log_probs:logs! targets! input_lengths target_lengths blank=0 reduction=mean zero_infinity=0").withNames("nn.CTCLoss", "log_probs:logs! targets! input_lengths target_lengths"),
}

// lossOf returns the row of a loss with a reduction; withNames adds its names.
func lossOf(name, inputs string, f func(c *call) *Array, attrs ...attribute) formula {
	row := wholeRow(name, Tabled, inputs, func(c *call) *Array { return c.reduceLoss(f(c), nil) }, append(slices.Clip(attrs), lossReduction)...)
	row.noise = &optype.Type{Noise: optype.NoiseLoss}
	return row
}

// alignmentLoss returns the negative log-likelihood of target sequences, summed over all alignments with blanks (CTC,
// Graves et al. 2006, section 4.1). The mean divides each loss by the length of its target first.
func alignmentLoss(c *call) *Array {
	logs, targets, lengths, sizes := c.input(0), c.input(1), c.input(2), c.input(3)
	if c.err == nil && len(logs.shape) == 2 {
		logs = logs.reshape(logs.shape[0], 1, logs.shape[1])
	}
	if c.err != nil || len(logs.shape) != 3 || int64(len(lengths.v)) != logs.shape[1] || len(sizes.v) != len(lengths.v) {
		return c.fail("log-probabilities of shape %s for %d sequences", logs.shape, len(lengths.v))
	}
	steps, batch, classes := int(logs.shape[0]), int(logs.shape[1]), int(logs.shape[2])
	z := c.array(c.shapes[0])
	if c.textAttribute("reduction") != "none" || len(z.v) != batch {
		z = c.array([]int64{int64(batch)})
	}
	blank, first := int(c.numberAttribute("blank")), 0
	for b := range batch {
		n, s := int(lengths.v[b]), int(sizes.v[b])
		from := first
		if len(targets.shape) == 2 {
			from = b * int(targets.shape[1])
		}
		if first += s; n < 1 || n > steps || s < 0 || from+s > len(targets.v) {
			return c.fail("a target of %d classes in %d steps", s, n)
		}
		labels := []int{blank} // blanks before, between and after the classes of the target
		for _, v := range targets.v[from : from+s] {
			if v < 0 || int(v) >= classes {
				return c.fail("class %v of %d", v, classes)
			}
			labels = append(labels, int(v), blank)
		}
		loss := -sumAlignments(func(t, class int) float64 { return logs.v[(t*batch+b)*classes+class] }, n, labels)
		if c.textAttribute("reduction") == "mean" {
			loss /= float64(max(s, 1))
		}
		if math.IsInf(loss, 1) && c.isAttributeTrue("zero_infinity") {
			loss = 0
		}
		off := float64(float64(8*n) * (math.Abs(loss) + 1))
		z.set(b, loss, float64(c.narrow.tf*off), float64(c.wide.tf*off))
	}
	return z
}

// sumAlignments returns the logarithm of the sum of the probabilities of all paths through labels in n steps: a path
// stays, goes on to the next label, or skips a blank between two different classes.
func sumAlignments(logs func(t, class int) float64, n int, labels []int) float64 {
	never := math.Inf(-1)
	paths := slices.Repeat([]float64{never}, len(labels))
	for t := range n {
		next := make([]float64, len(labels))
		for k, class := range labels {
			sum := paths[k]
			switch {
			case t == 0 && k < 2:
				sum = 0
			case t == 0:
			default:
				if k > 0 {
					sum = addLogs(sum, paths[k-1])
				}
				if k > 1 && class != labels[k-2] && k%2 == 1 {
					sum = addLogs(sum, paths[k-2])
				}
			}
			next[k] = sum + logs(t, class)
		}
		paths = next
	}
	if len(paths) == 1 {
		return paths[0]
	}
	return addLogs(paths[len(paths)-1], paths[len(paths)-2])
}

// addLogs returns log(exp(x) + exp(y)).
func addLogs(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(y, -1) {
		return x
	}
	return x + exact.Log1p(exact.Exp(y-x))
}
