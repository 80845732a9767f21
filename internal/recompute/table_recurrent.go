package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// recurrents are the formulas of recurrent layers and cells, and of whole attention modules of torch.nn. Weights are
// in the order of PyTorch: for each layer and direction weight_ih, weight_hh and, if present, bias_ih, bias_hh.
var recurrents = []formula{
	layerRow("LSTM", 4, lstmStep), layerRow("GRU", 3, gruStep), layerRow("RNN", 1, rnnStep, nonlinearity),
	cellRow("LSTMCell", 4, lstmStep), cellRow("GRUCell", 3, gruStep), cellRow("RNNCell", 1, rnnStep, nonlinearity),
	{name: "MultiheadAttention", class: Linear, noise: unbounded, inputs: "q k v in_weight in_bias? out_weight out_bias? mask? padding?", cut: uncut, outputs: 2, compute: multihead, open: true,
		attrs: []attribute{usualHeads, flagAttribute("batch_first", false)}, forms: []nameGroup{newNameGroup("nn.MultiheadAttention", "query:q! key:k! value:v! key_padding_mask:padding need_weights:- attn_mask:mask average_attn_weights:- is_causal:- in_proj_weight:in_weight! in_proj_bias:in_bias out_proj.weight:out_weight! out_proj.bias:out_bias")}},
}

// nonlinearity is the function of a plain recurrent layer.
var nonlinearity = textAttribute("nonlinearity", "tanh relu")

func layerRow(name string, gates int64, f cellStep, attrs ...attribute) formula {
	// torch.lstm and torch.gru draw random numbers in training with dropout.
	function := newNameGroup(strings.ToLower(name), "hx:h params:weights! has_biases:- num_layers:- dropout:- train==False bidirectional:- batch_first")
	return formula{name: name, class: Linear, noise: layers, forms: []nameGroup{newNameGroup("nn."+name, "hx:h parameters*:weights!"), function}, inputs: "x h? c? weights*", cut: uncut, outputs: 3, compute: recurrentFormula(gates, f, (*recurrence).computeLayers), attrs: append(attrs, flagAttribute("batch_first", false)), open: true}
}

func cellRow(name string, gates int64, f cellStep, attrs ...attribute) formula {
	return formula{name: name, class: Linear, noise: unbounded, forms: []nameGroup{newNameGroup("nn."+name, "hx:h parameters*:weights!")}, inputs: "x h? c? weights*", cut: uncut, outputs: 2, compute: recurrentFormula(gates, f, (*recurrence).computeCell), attrs: attrs}
}

// affineRows returns the products of the last axis of x with the rows of a matrix, plus the bias unless bias is nil.
// Errors of x are taken as independent: their squares add up.
func (x *Array) affineRows(w, bias *Array) *Array {
	m := x.m
	if m.err != nil || len(w.shape) != 2 || len(x.shape) == 0 || x.shape[len(x.shape)-1] != w.shape[1] {
		return m.fail("weights of shape %s for %s", w.shape, x.shape)
	}
	rows, inner := int(w.shape[0]), int(w.shape[1])
	shape := slices.Clone(x.shape)
	shape[len(shape)-1] = w.shape[0]
	z := m.array(shape)
	xa, xb := x.errorBounds()
	n := 1 + 2*math.Sqrt(float64(inner))
	for i := range z.v {
		if i%rows == 0 && m.isStopped() {
			break
		}
		from := i / rows * inner
		row := w.v[i%rows*inner:][:inner]
		sum, size, a, b := 0.0, 0.0, 0.0, 0.0
		for k, v := range row {
			p := float64(v * x.v[from+k])
			sum, size = sum+p, size+math.Abs(p)
			ea, eb := float64(v*xa[from+k]), float64(v*xb[from+k])
			a, b = a+float64(ea*ea), b+float64(eb*eb)
		}
		m.trackMagnitude(sum)
		const sigmas = 3
		z.set(i, sum, float64(sigmas*math.Sqrt(a))+float64(m.narrow.acc*n*size), float64(sigmas*math.Sqrt(b))+float64((float64(m.wide.acc*n)+float64(2*m.wide.inp))*size))
	}
	if bias != nil {
		return z.add(bias)
	}
	return z
}

// slice returns the elements from up to but excluding to of an axis.
func (x *Array) slice(axis int, from, to int64) *Array {
	if x.m.err != nil || axis >= len(x.shape) || from < 0 || to > x.shape[axis] {
		return x.m.fail("elements %d to %d of axis %d of shape %s", from, to, axis, x.shape)
	}
	shape := slices.Clone(x.shape)
	shape[axis] = to - from
	inner, n, count := int(x.shape[axis+1:].Elements()), int(x.shape[axis]), int(to-from)
	return x.gatherFrom(shape, 0, func(i int) int {
		return (i/inner/count*n+int(from)+i/inner%count)*inner + i%inner
	})
}

// swapFirstAxes returns an array with the first two axes swapped.
func (x *Array) swapFirstAxes() *Array {
	if x.m.err != nil || len(x.shape) < 2 {
		return x
	}
	shape := slices.Clone(x.shape)
	shape[0], shape[1] = shape[1], shape[0]
	inner, rows, columns := int(shape[2:].Elements()), int(shape[0]), int(shape[1])
	return x.gatherFrom(shape, 0, func(i int) int {
		at := i / inner
		return (at%columns*rows+at/columns)*inner + i%inner
	})
}

// cellStep computes the next state of a cell. in is the input times the input weights, own the state h times the
// state weights, both for all gates.
type cellStep func(op *call, in, own, h, c *Array) (nextH, nextC *Array)

// gateOf returns part k, of equal parts, of the last axis.
func gateOf(x *Array, k, of int64) *Array {
	axis := len(x.shape) - 1
	if axis < 0 {
		return x.m.fail("gates of a number")
	}
	n := x.shape[axis] / of
	return x.slice(axis, k*n, (k+1)*n)
}

func lstmStep(_ *call, in, own, _, c *Array) (h, next *Array) {
	all := in.add(own)
	next = sigmoid(gateOf(all, 1, 4)).mul(c).add(sigmoid(gateOf(all, 0, 4)).mul(gateOf(all, 2, 4).tanh()))
	return sigmoid(gateOf(all, 3, 4)).mul(next.tanh()), next
}

func gruStep(_ *call, in, own, h, _ *Array) (next, _ *Array) {
	reset := sigmoid(gateOf(in, 0, 3).add(gateOf(own, 0, 3)))
	update := sigmoid(gateOf(in, 1, 3).add(gateOf(own, 1, 3)))
	fresh := gateOf(in, 2, 3).add(reset.mul(gateOf(own, 2, 3))).tanh()
	return fresh.add(update.mul(h.sub(fresh))), nil
}

func rnnStep(op *call, in, own, _, _ *Array) (next, _ *Array) {
	return activate(in.add(own), op.textAttribute("nonlinearity")), nil
}

// recurrentFormula returns the computation of a layer or a cell with a number of gates.
func recurrentFormula(gates int64, f cellStep, run func(r *recurrence, x *Array) []*Array) func(c *call) []*Array {
	return func(c *call) []*Array {
		x, weights := c.input(0), c.inputs[min(3, len(c.inputs)):]
		if c.err != nil || len(x.shape) == 0 || len(weights) < 2 || len(weights[1].shape) != 2 || weights[1].shape[0] != gates*weights[1].shape[1] {
			return []*Array{c.fail("weights do not fit")}
		}
		r := &recurrence{call: c, step: f, hidden: weights[1].shape[1], weights: weights, each: 2}
		if slices.ContainsFunc(weights, func(w *Array) bool { return len(w.shape) == 1 }) {
			r.each = 4
		}
		if len(weights)%r.each != 0 {
			return []*Array{c.fail("weights do not fit")}
		}
		return run(r, x)
	}
}

// recurrence is a recurrent layer or cell. each is the number of weights of a layer in one direction.
type recurrence struct {
	*call
	step    cellStep
	hidden  int64
	weights []*Array
	each    int
}

// initialState returns an initial state, zeros if it is absent.
func (r *recurrence) initialState(k int, shape tensor.Shape) *Array {
	if r.hasInput(k) {
		return r.input(k).reshape(shape...)
	}
	return r.exactArray(shape, make([]float64, shape.Elements()))
}

// bias returns bias k of a layer in one direction, nil if there is none.
func (r *recurrence) bias(layer, k int) *Array {
	if r.each < 4 {
		return nil
	}
	return r.weights[layer*r.each+k]
}

// computeCell computes one step.
func (r *recurrence) computeCell(x *Array) []*Array {
	shape := slices.Concat(x.shape[:len(x.shape)-1], tensor.Shape{r.hidden})
	h, c := r.step(r.call, x.affineRows(r.weights[0], r.bias(0, 2)), r.initialState(1, shape).affineRows(r.weights[1], r.bias(0, 3)), r.initialState(1, shape), r.initialState(2, shape))
	return []*Array{h, c}
}

// computeLayers computes all steps of all layers, in one or both directions. It returns the outputs of the last layer and
// the last states.
func (r *recurrence) computeLayers(x *Array) []*Array {
	y := r.shapes[0]
	if len(y) == 0 || y[len(y)-1] != r.hidden && y[len(y)-1] != 2*r.hidden {
		return []*Array{r.fail("an output of shape %s of %d hidden elements", y, r.hidden)}
	}
	directions := int(y[len(y)-1] / r.hidden)
	if len(r.weights)%(r.each*directions) != 0 {
		return []*Array{r.fail("%d weights of %d directions", len(r.weights), directions)}
	}
	isUnbatched := len(x.shape) == 2
	if isUnbatched {
		x = x.reshape(x.shape[0], 1, x.shape[1])
	} else if r.isAttributeTrue("batch_first") {
		x = x.swapFirstAxes()
	}
	if r.err != nil || len(x.shape) != 3 {
		return []*Array{r.fail("an input of shape %s", x.shape)}
	}
	times, batch := x.shape[0], x.shape[1]
	count := len(r.weights) / r.each
	states := tensor.Shape{int64(count), batch, r.hidden}
	h0, c0 := r.initialState(1, states), r.initialState(2, states)
	var lastH, lastC []*Array
	for layer := range count / directions {
		var both []*Array
		for d := range directions {
			of := layer*directions + d
			one := tensor.Shape{batch, r.hidden}
			h, c := h0.slice(0, int64(of), int64(of+1)).reshape(one...), c0.slice(0, int64(of), int64(of+1)).reshape(one...)
			in := x.affineRows(r.weights[of*r.each], r.bias(of, 2))
			steps := make([]*Array, times)
			for t := range times {
				if d == 1 {
					t = times - 1 - t
				}
				now := in.slice(0, t, t+1).reshape(batch, -1)
				h, c = r.step(r.call, now, h.affineRows(r.weights[of*r.each+1], r.bias(of, 3)), h, c)
				if r.isStopped() {
					return []*Array{h}
				}
				steps[t] = h.reshape(1, batch, r.hidden)
			}
			both = append(both, cat(0, steps...))
			lastH = append(lastH, h.reshape(1, batch, r.hidden))
			if c != nil {
				lastC = append(lastC, c.reshape(1, batch, r.hidden))
			}
		}
		x = cat(2, both...)
	}
	if !isUnbatched && r.isAttributeTrue("batch_first") {
		x = x.swapFirstAxes()
	}
	all := []*Array{x, cat(0, lastH...)}
	if lastC != nil {
		all = append(all, cat(0, lastC...))
	}
	return all
}

// usualHeads lists usual numbers of heads that divide the elements of a query.
var usualHeads = closedAttribute("heads", func(p *problem) (all []Attributes) {
	if p.rank() == 0 {
		return nil
	}
	n := p.Inputs[0].Shape[p.rank()-1]
	for _, heads := range []int64{8, 4, 12, 16, 2, 1, 32, 6, 3, 20, 24, 64} {
		if n%heads == 0 {
			all = append(all, Attributes{"heads": {Number(float64(heads)), FromValues}})
		}
	}
	return all
})

// multihead is torch.nn.MultiheadAttention: projections of query, key and value, attention of each head, and the
// projection of the concatenated heads. The second output is the mean of the weights over the heads.
func multihead(c *call) []*Array {
	q, k, v, w := c.input(0), c.input(1), c.input(2), c.input(3)
	heads := int64(c.numberAttribute("heads"))
	if c.err != nil || len(q.shape) != 3 || len(k.shape) != 3 || len(w.shape) != 2 || heads < 1 {
		return []*Array{c.fail("a query of shape %s and weights of shape %s", q.shape, w.shape)}
	}
	if !c.isAttributeTrue("batch_first") {
		q, k, v = q.swapFirstAxes(), k.swapFirstAxes(), v.swapFirstAxes()
	}
	batch, n := q.shape[0], q.shape[2]
	if w.shape[0] != 3*n || n%heads != 0 || k.shape[0] != batch {
		return []*Array{c.fail("a query of shape %s and weights of shape %s", q.shape, w.shape)}
	}
	project := func(x *Array, i int64) *Array {
		var bias *Array
		if c.hasInput(4) {
			bias = c.input(4).slice(0, i*n, (i+1)*n)
		}
		return x.affineRows(w.slice(0, i*n, (i+1)*n), bias)
	}
	q, k, v = project(q, 0), project(k, 1), project(v, 2)
	each := n / heads
	var rows, weights []*Array
	for b := range batch {
		var side []*Array
		var mean *Array
		for h := range heads {
			if c.isStopped() {
				return []*Array{q}
			}
			head := func(x *Array) *Array {
				return x.slice(0, b, b+1).slice(2, h*each, (h+1)*each).reshape(-1, each)
			}
			scores := head(q).affineRows(head(k), nil).times(1 / math.Sqrt(float64(each)))
			p := softmax(c.maskedScores(scores, b, h, heads), false, 1)
			side = append(side, p.affineRows(head(v).swapFirstAxes(), nil))
			if mean == nil {
				mean = p
			} else {
				mean = mean.add(p)
			}
		}
		rows = append(rows, cat(1, side...).reshape(1, -1, n))
		weights = append(weights, mean.times(1/float64(heads)).reshape(1, mean.shape[0], mean.shape[1]))
	}
	var bias *Array
	if c.hasInput(6) {
		bias = c.input(6)
	}
	y := cat(0, rows...).affineRows(c.input(5), bias)
	if !c.isAttributeTrue("batch_first") {
		y = y.swapFirstAxes()
	}
	return []*Array{y, cat(0, weights...)}
}

// maskedScores applies both masks to the scores of a head: truth values exclude scores, numbers are added.
func (c *call) maskedScores(scores *Array, batch, head, heads int64) *Array {
	apply := func(k int, mask *Array) {
		if c.types[k] == tensor.Bool {
			scores = mask.selectWhere(c.number(math.Inf(-1)), scores)
			return
		}
		scores = scores.add(mask)
	}
	if c.hasInput(7) {
		mask := c.input(7)
		if len(mask.shape) == 3 {
			at := batch*heads + head
			mask = mask.slice(0, at, at+1).reshape(mask.shape[1:]...)
		}
		apply(7, mask)
	}
	if c.hasInput(8) {
		apply(8, c.input(8).slice(0, batch, batch+1))
	}
	return scores
}
