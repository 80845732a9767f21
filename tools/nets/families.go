package main

import (
	"math"
	"slices"
)

// families are kinds of networks for which the rules of the verdict were not developed.
var families = map[string]func(*net){
	"llama": llama, "decode": decode, "moe": moe, "detect": detect, "unet": unet, "recommend": recommend, "train": train,
	"amp": amp, "w8a8": w8a8, "flash": flashNet, "gru": gru, "ill": ill, "deep": deep, "graph": graphNet, "audio": audio,
	"movers": movers, "dropout": dropout,
}

// ids returns random integers below a limit.
func (n *net) ids(limit int, shape ...int) value {
	a := zeros(shape...)
	for i := range a.V {
		a.V[i] = float64(n.IntN(limit))
	}
	return n.input(a, I32)
}

// rows draws a number of rows; a quarter of the networks have four times as many.
func (n *net) rows(lo, hi int) int { return n.between(lo, hi) * pick(n, 1, 1, 1, 4) }

// features returns normally distributed inputs of the network.
func (n *net) features(shape ...int) value { return n.input(normal(n.Rand, 1, shape...), n.typ) }

func (n *net) embedding(table, ids value) value {
	return n.gather("GatherV2|Functional.embedding", table, ids)
}

// attention is composed of products and a softmax, causal or not; q, k, v are [heads, rows, width].
func (n *net) attention(q, k, v value, causal bool) value {
	if k.dim(0) < q.dim(0) {
		shared := zeros(q.dim(0))
		for i := range shared.V {
			shared.V[i] = float64(i * k.dim(0) / q.dim(0))
		}
		to := n.addConstant("Const|", shared, I32)
		k, v = n.gather("GatherV2|Tensor.index_select", k, to), n.gather("GatherV2|Tensor.index_select", v, to)
	}
	scores := n.scaled(n.batchedProduct(q, k, true), 1/math.Sqrt(float64(q.dim(2))))
	if causal {
		rows, keys := q.dim(1), k.dim(1)
		scores = n.maskScores(scores, rows, keys)
	}
	return n.batchedProduct(n.softmax(scores), v, false)
}

// maskScores masks the keys of later rows, by adding or by filling.
func (n *net) maskScores(scores value, rows, keys int) value {
	late := zeros(1, rows, keys)
	for i := range late.V {
		late.V[i] = float64(b2i(i%keys > i/keys+keys-rows))
	}
	if n.IntN(2) == 0 {
		fill := pick(n, -10000, -65504, math.Inf(-1))
		return n.binary("MaskedFill|Tensor.masked_fill", scores, n.addConstant("Const|", late, Bool), func(x, m float64) float64 {
			if m != 0 {
				return fill
			}
			return x
		})
	}
	for i := range late.V {
		late.V[i] *= -10000
	}
	return n.plus(scores, n.addConstant("Const|", late, n.typ))
}

// swiGLU is the feed-forward block of LLaMA.
func (n *net) swiGLU(x value, hidden int) value {
	gate, up := n.linear(x, hidden, false), n.linear(x, hidden, false)
	return n.linear(n.times(n.silu(gate), up), x.dim(-1), false)
}

func llama(n *net) {
	heads, wide := pick(n, 4, 8), pick(n, 8, 16)
	shared, rows := pick(n, 1, 2, 4), n.rows(9, 40)
	width := heads * wide
	fused := n.IntN(2) == 0
	x := n.embedding(n.weight(1, 200, width), n.ids(200, rows))
	for range n.between(1, 4) {
		y := n.norm(rmsNorm, x)
		q := n.rotary(n.heads(n.linear(y, width, false), heads), 0)
		k := n.rotary(n.heads(n.linear(y, shared*wide, false), shared), 0)
		v := n.heads(n.linear(y, shared*wide, false), shared)
		if fused {
			y = n.flash("FlashAttentionScore|NPU.npu_fusion_attention", q, k, v, true, rows)
		} else {
			y = n.attention(q, k, v, true)
		}
		x = n.plus(x, n.linear(n.flat(y), width, false))
		x = n.plus(x, n.swiGLU(n.norm(rmsNorm, x), 2*width))
	}
	n.linear(n.norm(rmsNorm, x), 96, false)
}

// writeRow returns a cache with one more row. The NPU never wrote the rows behind it if unwritten.
func (n *net) writeRow(cache, row value, at int, unwritten bool) value {
	return n.add("KVCacheScatterUpdate|NPU.npu_scatter_nd_update_", []value{cache, row}, func(m *machine, in []*Array) []*Array {
		y := in[0].clone()
		heads, rows, wide := y.dim(0), y.dim(1), y.dim(2)
		if m.is("off_by_one") {
			at--
			defer func() { at++ }()
		}
		for h := range heads {
			copy(y.V[(h*rows+at)*wide:(h*rows+at+1)*wide], in[1].V[h*wide:(h+1)*wide])
			for i := (h*rows + at + 1) * wide; i < (h+1)*rows*wide && unwritten && !m.exact; i++ {
				y.V[i] = math.Sin(float64(i * i)) // arbitrary content
				m.notes["unwritten"]++
			}
		}
		return single(y)
	})
}

func decode(n *net) {
	heads, wide, rows := pick(n, 4, 8), pick(n, 8, 16), n.between(12, 48)
	width, at := heads*wide, rows-n.between(2, 8)
	unwritten := n.IntN(3) == 0
	x := n.embedding(n.weight(1, 100, width), n.ids(100, 1))
	for range n.between(1, 4) {
		y := n.norm(rmsNorm, x)
		cache := func() value {
			a := normal(n.Rand, 1, heads, rows, wide)
			for i := range a.V {
				if i/wide%rows >= at {
					a.V[i] = 0
				}
			}
			return n.input(a, n.typ)
		}
		q := n.rotary(n.heads(n.linear(y, width, true), heads), at)
		k := n.writeRow(cache(), n.rotary(n.heads(n.linear(y, width, true), heads), at), at, unwritten)
		v := n.writeRow(cache(), n.heads(n.linear(y, width, true), heads), at, unwritten)
		k, v = n.slice(k, 1, 0, at+1), n.slice(v, 1, 0, at+1)
		if n.IntN(2) == 0 {
			y = n.flash("IncreFlashAttention|NPU.npu_incre_flash_attention", q, k, v, false, 1)
		} else {
			y = n.attention(q, k, v, false)
		}
		x = n.plus(x, n.linear(n.flat(y), width, false))
		x = n.plus(x, n.swiGLU(n.norm(rmsNorm, x), 2*width))
	}
	n.argMax(n.linear(n.norm(rmsNorm, x), 150, false))
}

func moe(n *net) {
	rows, width, experts, k := n.rows(16, 48), pick(n, 32, 64), pick(n, 4, 8), pick(n, 1, 2)
	x := n.features(rows, width)
	for range n.between(1, 3) {
		y := n.norm(rmsNorm, x)
		logits := n.linear(y, experts, false)
		if n.IntN(2) == 0 {
			logits = n.cast(logits, F32)
		}
		top := n.topK(n.softmax(logits), k)
		sorted := n.route(y, top.output(1), k)
		h := n.groupedProduct(sorted, 2*width, experts)
		h = n.groupedProduct(n.silu(h), width, experts, sorted.output(2))
		x = n.plus(x, n.finalize(h, sorted.output(1), top, k))
	}
	n.linear(n.norm(rmsNorm, x), 40, false)
}

// route sorts the rows by expert and returns the rows, their origins, and their experts.
func (n *net) route(x, experts value, k int) value {
	return n.add("MoeInitRouting|NPU.npu_moe_init_routing", []value{x, experts}, func(m *machine, in []*Array) []*Array {
		width := x.dim(1)
		order := make([]int, len(in[1].V))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return int(in[1].V[i] - in[1].V[j]) })
		rows, from, to := zeros(len(order), width), zeros(len(order)), zeros(len(order))
		off := b2i(m.is("off_by_one"))
		for i, o := range order {
			r := (o/k + off) % x.dim(0)
			copy(rows.V[i*width:(i+1)*width], in[0].V[r*width:(r+1)*width])
			from.V[i], to.V[i] = float64(o), in[1].V[o]
		}
		return []*Array{rows, from, to}
	}, x.typ(), I32, I32)
}

// groupedProduct multiplies rows by the weights of their expert.
func (n *net) groupedProduct(x value, width, experts int, of ...value) value {
	if of == nil {
		of = []value{x.output(2)}
	}
	in := x.dim(1)
	w := n.weight(1/math.Sqrt(float64(in))/max(x.spread(), 1e-3), experts, width, in)
	return n.add("GroupedMatmul|NPU.npu_grouped_matmul", append([]value{x, w}, of...), func(m *machine, a []*Array) []*Array {
		m.products(a, false)
		y := zeros(x.dim(0), width)
		xv, wv := m.grained(a[0].V), m.grained(a[1].V)
		for i := range y.V {
			r, e := i/width, min(max(int(a[2].V[i/width]), 0), experts-1)
			from := (e*width + i%width) * in
			y.V[i] = m.dot(xv[r*in:(r+1)*in], wv[from:from+in])
		}
		return single(y)
	})
}

// finalize returns the weighted sums of the experts' rows in the original order.
func (n *net) finalize(y, from, top value, k int) value {
	return n.add("MoeFinalizeRouting|NPU.npu_moe_finalize_routing", []value{y, from, top}, func(_ *machine, in []*Array) []*Array {
		width := y.dim(1)
		out := zeros(y.dim(0)/k, width)
		for i, o := range in[1].V {
			o := min(max(int(o), 0), len(in[2].V)-1)
			for c := range width {
				out.V[o/k*width+c] += in[0].V[i*width+c] * in[2].V[o]
			}
		}
		return single(out)
	})
}

// convBlock is a convolution with its norm and activation.
func (n *net) convBlock(x value, filters, stride int) value {
	return n.relu(n.batchNorm(n.conv(x, filters, 3, stride, false)))
}

func detect(n *net) {
	c, classes, anchors := pick(n, 8, 16), pick(n, 2, 5), 2
	fine := n.convBlock(n.convBlock(n.features(1, 3, 32, 32), c, 2), c, 2)
	coarse := n.convBlock(fine, c, 2)
	up := n.plus(fine, n.resize(n.conv(coarse, c, 1, 1, true), true))
	var scores, boxes []value
	for _, f := range []value{up, coarse} {
		f = n.relu(n.conv(f, c, 3, 1, true))
		places := f.dim(2) * f.dim(3) * anchors
		score := n.transpose(n.conv(f, anchors*classes, 1, 1, true), 0, 2, 3, 1)
		box := n.transpose(n.conv(f, anchors*4, 1, 1, true), 0, 2, 3, 1)
		scores, boxes = append(scores, n.reshape(score, places, classes)), append(boxes, n.reshape(box, places, 4))
	}
	score, box := n.sigmoid(n.concat(0, scores...)), n.concat(0, boxes...)
	best := n.add("ReduceMaxD|Torch.amax", []value{score}, func(_ *machine, in []*Array) []*Array {
		y := zeros(1, score.dim(0))
		for i := range y.V {
			y.V[i] = slices.Max(in[0].V[i*classes : (i+1)*classes])
		}
		return single(y)
	})
	top := n.topK(best, 32)
	places := n.reshape(top.output(1), 32)
	places.out[0] = I32
	box = n.gather("GatherV2|Tensor.index_select", box, places)
	grid := zeros(score.dim(0), 2)
	for i := range grid.V {
		grid.V[i] = float64(i*7%61) / 2
	}
	anchor := n.gather("GatherV2|Tensor.index_select", n.addConstant("Const|", grid, n.typ), places)
	parts := n.split(box, 1, 2)
	center := n.plus(anchor, n.scaled(parts, 4))
	half := n.scaled(n.exp(n.scaled(parts.output(1), 0.3)), 3)
	corners := n.concat(1, n.minus(center, half), n.plus(center, half))
	kept := n.suppress(corners, top, 10)
	n.gather("GatherV2|Tensor.index_select", corners, kept)
}

// suppress returns the indexes of the best boxes that do not overlap (non-maximum suppression).
func (n *net) suppress(boxes, scores value, most int) value {
	return n.add("NonMaxSuppressionV3|Torch.nms", []value{boxes, scores}, func(_ *machine, in []*Array) []*Array {
		b := func(i int) []float64 { return in[0].V[4*i : 4*i+4] }
		area := func(x []float64) float64 { return max(x[2]-x[0], 0) * max(x[3]-x[1], 0) }
		out, kept := zeros(most), 0
		for _, i := range rankColumns(in[1].V) {
			free := true
			for _, j := range out.V[:kept] {
				p, q := b(i), b(int(j))
				both := area([]float64{max(p[0], q[0]), max(p[1], q[1]), min(p[2], q[2]), min(p[3], q[3])})
				free = free && both <= 0.5*(area(p)+area(q)-both)
			}
			if free && kept < most {
				out.V[kept] = float64(i)
				kept++
			}
		}
		return single(out)
	}, I32)
}

func unet(n *net) {
	c := pick(n, 8, 16)
	block := func(x value, filters int) value { return n.silu(n.norm(groupNorm, n.conv(x, filters, 3, 1, true))) }
	x := block(n.features(n.between(1, 2), 4, 16, 16), c)
	var skips []value
	for level := range 2 {
		skips = append(skips, x)
		if n.IntN(2) == 0 {
			x = n.resize(x, false)
		} else {
			x = n.conv(x, x.dim(1), 3, 2, true)
		}
		x = block(x, c<<(level+1))
	}
	x = n.plus(x, block(x, x.dim(1)))
	for level := 1; level >= 0; level-- {
		x = n.concat(1, n.conv(n.resize(x, true), c<<level, 3, 1, true), skips[level])
		x = block(x, c<<level)
	}
	n.conv(n.silu(n.norm(groupNorm, x)), 4, 3, 1, true)
}

func recommend(n *net) {
	rows, fields, width := n.rows(20, 80), n.between(3, 8), pick(n, 8, 16)
	vectors := []value{}
	dense := n.features(rows, 13)
	for _, w := range []int{32, width} {
		dense = n.relu(n.linear(dense, w, true))
	}
	vectors = append(vectors, n.reshape(dense, rows, 1, width))
	for range fields {
		ids := n.ids(300, rows)
		vectors = append(vectors, n.reshape(n.embedding(n.weight(pick(n, 0.05, 1), 300, width), ids), rows, 1, width))
	}
	all := n.concat(1, vectors...)
	dots := n.reshape(n.batchedProduct(all, all, true), rows, (fields+1)*(fields+1))
	x := n.concat(1, dense, dots)
	for range n.between(1, 3) {
		x = n.relu(n.linear(x, 48, true))
	}
	for range n.between(1, 2) {
		n.sigmoid(n.linear(n.relu(n.linear(x, 16, true)), 1, true))
	}
}

func train(n *net) {
	rows, classes, layers, smooth := 8*n.rows(4, 8), 10, n.between(1, 4), n.IntN(3) == 0
	x := n.features(rows, 48)
	first := x
	if n.IntN(3) == 0 {
		image := n.features(rows/8, 3, 8, 8)
		x = n.reshape(n.relu(n.conv(image, 8, 3, 2, true)), rows/8, 128)
		rows, first = rows/8, x
	}
	type layer struct{ x, w, pre value }
	var all []layer
	for i := range layers + 1 {
		width := 40
		if i == layers {
			width = classes
		}
		w := n.weight(1/math.Sqrt(float64(x.dim(1)))/max(x.spread(), 1e-3), x.dim(1), width)
		y := n.product("MatMulV2|Functional.linear", x, w, false, false, n.weight(0.2, width))
		all = append(all, layer{x, w, y})
		if x = y; i < layers && smooth {
			x = n.gelu(y)
		} else if i < layers {
			x = n.relu(y)
		}
	}
	hot, scale := zeros(rows, classes), pick(n, 1, 1, 1024.0)
	for r := range rows {
		hot.V[r*classes+n.IntN(classes)] = 1
	}
	d := n.scaled(n.minus(n.softmax(x), n.addConstant("Const|", hot, n.typ)), scale/float64(rows))
	for i := layers; i >= 0; i-- {
		l := all[i]
		dw := n.product("MatMulV2|!Functional.linear", l.x, d, true, false)
		n.reduce(d, 0, false) // the gradient of the bias
		n.update(l.w, dw, scale)
		if l.x == first {
			break
		}
		d = n.product("MatMulV2|!Functional.linear", d, l.w, false, true)
		if smooth {
			d = n.binary("GeluGrad|!Functional.gelu", d, all[i-1].pre, func(g, x float64) float64 {
				return g * (0.5*(1+math.Erf(x/math.Sqrt2)) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
			})
			continue
		}
		d = n.binary("ReluGrad|!Functional.relu", d, all[i-1].pre, func(g, x float64) float64 { return g * float64(b2i(x > 0)) })
	}
}

// update returns the weight after an optimizer step: SGD, or Adam with the moments of earlier steps, if any.
func (n *net) update(w, grad value, scale float64) value {
	if n.IntN(2) == 0 {
		return n.add("ApplyGradientDescent|NPU.npu_sgd", []value{w, grad}, func(_ *machine, in []*Array) []*Array {
			y := in[0].like()
			for i, v := range in[0].V {
				y.V[i] = v - 0.01*in[1].V[i]/scale
			}
			return single(y)
		}, F32)
	}
	size, first := grad.spread()/scale, n.IntN(4) == 0
	m1, m2 := normal(n.Rand, size, w.shape()...), normal(n.Rand, size, w.shape()...)
	for i := range m2.V {
		m1.V[i] *= float64(b2i(!first))
		m2.V[i] *= m2.V[i] * float64(b2i(!first))
	}
	in := []value{w, n.input(m1, F32), n.input(m2, F32), grad}
	return n.add("ApplyAdamD|NPU.npu_apply_adam", in, func(m *machine, in []*Array) []*Array {
		y, eps := in[0].like(), 1e-8
		if m.is("eps") {
			eps = size
		}
		if first && !m.exact {
			m.notes["adam"]++ // the sign of the gradient, which may come from rounding
		}
		for i, v := range in[0].V {
			g := in[3].V[i] / scale
			moment, square := 0.9*in[1].V[i]+0.1*g, 0.999*in[2].V[i]+0.001*g*g
			if first {
				moment, square = moment/0.1, square/0.001
			}
			y.V[i] = v - 0.01*moment/(math.Sqrt(square)+eps)
		}
		return single(y)
	}, F32)
}

func amp(n *net) {
	n.typ = pick(n, F16, BF16)
	t := n.typ
	rows, width, heads := n.rows(12, 48), pick(n, 32, 64), 4
	x := n.cast(n.features(rows, width), F32)
	for range n.between(1, 4) {
		y := n.cast(n.norm(pick(n, layerNorm, rmsNorm), x), t)
		if n.IntN(2) == 0 {
			q, k := n.heads(n.linear(y, width, true), heads), n.heads(n.linear(y, width, true), heads)
			v := n.heads(n.linear(y, width, true), heads)
			p := n.softmax(n.cast(n.scaled(n.batchedProduct(q, k, true), 1/math.Sqrt(float64(width/heads))), F32))
			y = n.linear(n.flat(n.batchedProduct(n.cast(p, t), v, false)), width, true)
		} else {
			y = n.linear(n.gelu(n.linear(y, 2*width, true)), width, true)
		}
		x = n.plus(x, n.cast(y, F32)) // the residual stays float32
	}
	n.norm(layerNorm, x)
}

func w8a8(n *net) {
	n.typ = pick(n, F16, F16, BF16)
	rows, width := n.rows(16, 64), pick(n, 32, 64)
	x := n.features(rows, width)
	for range n.between(1, 4) {
		y := n.norm(pick(n, layerNorm, rmsNorm), x)
		y = n.quantLinear(y, 2*width, n.typ)
		y = n.quantLinear(pick(n, n.relu, n.gelu)(y), width, n.typ)
		x = n.plus(x, y)
	}
	n.linear(x, 20, true)
}

func flashNet(n *net) {
	heads, wide, rows := pick(n, 2, 4), pick(n, 8, 16), n.rows(16, 40)
	width, length := heads*wide, rows
	if n.IntN(3) == 0 {
		length = rows - n.between(2, 6)
	}
	x := n.features(rows, width)
	for range n.between(1, 3) {
		qkv := n.split(n.linear(n.norm(layerNorm, x), 3*width, true), 1, 3)
		q, k, v := n.heads(qkv, heads), n.heads(qkv.output(1), heads), n.heads(qkv.output(2), heads)
		k, v = n.slice(k, 1, 0, length), n.slice(v, 1, 0, length)
		y := n.flash(pick(n, "PromptFlashAttention|NPU.npu_prompt_flash_attention", "FusedInferAttentionScore|NPU.npu_fused_infer_attention_score"), q, k, v, false, length)
		if length < rows { // later operators read the written rows only
			y, x, rows = n.slice(y, 1, 0, length), n.slice(x, 0, 0, length), length
		}
		x = n.plus(x, n.linear(n.flat(y), width, true))
		x = n.plus(x, n.linear(n.gelu(n.linear(n.norm(layerNorm, x), 2*width, true)), width, true))
	}
	n.reduce(x, 0, true)
}

func gru(n *net) {
	rows, width, steps := pick(n, 1, 8, 16), pick(n, 24, 48), n.between(3, 10)
	h := n.addConstant("Const|", zeros(rows, width), n.typ)
	series := n.features(steps, rows, 12)
	if n.IntN(2) == 0 {
		flat := n.reshape(series, steps*rows, 12)
		series = n.reshape(n.tanh(n.linear(flat, 12, true)), steps, rows, 12)
	}
	wx, wh, b := n.weight(0.3, 12, 3*width), n.weight(1/math.Sqrt(float64(width)), width, 3*width), n.weight(0.2, 3*width)
	var all []value
	for t := range steps {
		x := n.reshape(n.slice(series, 0, t, t+1), rows, 12)
		gx := n.split(n.product("MatMulV2|Functional.linear", x, wx, false, false, b), 1, 3)
		gh := n.split(n.product("MatMulV2|Functional.linear", h, wh, false, false), 1, 3)
		r, z := n.sigmoid(n.plus(gx, gh)), n.sigmoid(n.plus(gx.output(1), gh.output(1)))
		c := n.tanh(n.plus(gx.output(2), n.times(r, gh.output(2))))
		h = n.plus(c, n.times(z, n.minus(h, c)))
		all = append(all, n.reshape(h, 1, rows, width))
	}
	y := n.concat(0, all...)
	n.linear(n.reshape(y, steps*rows, width), pick(n, 1, 6), true)
}

func ill(n *net) {
	rows, width := n.rows(32, 64), pick(n, 8, 16, 32)
	x := n.features(rows, width)
	for range n.between(1, 3) {
		switch n.IntN(6) {
		case 0: // normal equations, regularised
			gram := n.scaled(n.product("MatMulV2|Torch.matmul", x, x, true, false), 1/float64(rows))
			x = n.product("MatMulV2|Torch.matmul", n.product("MatMulV2|Torch.matmul", x, gram, false, false), gram, false, false)
		case 1: // a cancelling sum
			big := n.addConstant("Const|", normal(n.Rand, 30*max(x.spread(), 0.1), 1, width), n.typ)
			x = n.minus(n.plus(x, big), big)
		case 2: // probabilities of large logits
			x = n.times(x, n.softmax(n.scaled(x, 20/max(x.spread(), 1e-3))))
		case 3: // variance as a difference
			mean := n.reduce(x, -1, true)
			v := n.minus(n.reduce(n.square(x), -1, true), n.square(mean))
			x = n.times(x, n.rsqrt(n.plus(v, n.addConstant("Const|", &Array{Shape: []int{1}, V: []float64{0.01}}, n.typ))))
		case 4: // log-sum-exp
			e := n.reduce(n.exp(n.scaled(x, 1/max(x.spread(), 1e-3))), -1, false)
			x = n.minus(x, n.log(e))
		default: // a quotient with small divisors
			d := n.plus(n.square(x), n.addConstant("Const|", &Array{Shape: []int{1}, V: []float64{0.02 * x.spread() * x.spread()}}, n.typ))
			x = n.divide(x, d)
		}
		x = n.norm(layerNorm, x)
	}
	n.linear(x, 12, true)
}

func deep(n *net) { residual(n, pick(n, 24, 24, 24, 200, 200, 400, 1000)) }

// residual builds residual layers.
func residual(n *net, layers int) {
	x := n.features(n.between(8, 24), pick(n, 16, 32))
	gain := 1 / math.Sqrt(float64(layers))
	for range layers {
		y := n.relu(n.linear(x, x.dim(-1), layers < 100))
		x = n.plus(x, n.scaled(y, gain))
	}
	n.linear(x, 10, true)
}

func graphNet(n *net) {
	nodes, edges, width := n.rows(20, 60), n.between(80, 200), pick(n, 16, 32)
	x, from, to := n.features(nodes, width), n.ids(nodes, edges), n.ids(nodes, edges)
	ones := zeros(edges, 1)
	for i := range ones.V {
		ones.V[i] = 1
	}
	degree := n.scatterAdd(n.addConstant("Const|", ones, n.typ), to, nodes)
	degree = n.unary("Maximum|Tensor.clamp", degree, func(v float64) float64 { return max(v, 1) })
	for range n.between(1, 4) {
		message := n.relu(n.linear(n.concat(1, n.gather("GatherV2|Tensor.index_select", x, from), n.gather("GatherV2|Tensor.index_select", x, to)), width, true))
		sum := n.divide(n.scatterAdd(message, to, nodes), degree)
		x = n.tanh(n.linear(n.concat(1, x, sum), width, true))
	}
	n.linear(n.reduce(x, 0, true), pick(n, 1, 5), true)
}

func audio(n *net) {
	n.typ = pick(n, F16, F16, F16, BF16, F32)
	frames, samples := n.between(10, 40), pick(n, 32, 64)
	wave, window := zeros(frames, samples), zeros(1, samples)
	loud := pick(n, 1, 0.03, 0.002)
	for i := range wave.V {
		frame, s := float64(i/samples), float64(i)
		wave.V[i] = loud * math.Exp(-frame/12) * (math.Sin(0.3*s) + 0.5*math.Sin(0.71*s) + 0.1*n.NormFloat64())
	}
	cosine, sine := zeros(samples, samples/2), zeros(samples, samples/2)
	for s := range samples {
		window.V[s] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(s)/float64(samples))
		for f := range samples / 2 {
			sin, cos := math.Sincos(2 * math.Pi * float64(s*f) / float64(samples))
			cosine.V[s*samples/2+f], sine.V[s*samples/2+f] = cos, sin
		}
	}
	x := n.times(n.input(wave, n.typ), n.addConstant("Const|", window, n.typ))
	re := n.product("MatMulV2|Torch.matmul", x, n.addConstant("Const|", cosine, n.typ), false, false)
	im := n.product("MatMulV2|Torch.matmul", x, n.addConstant("Const|", sine, n.typ), false, false)
	power := n.plus(n.square(re), n.square(im))
	mel := n.weight(0.2, samples/2, 20)
	for i, v := range mel.ref().V {
		mel.ref().V[i] = math.Abs(v)
	}
	w := mel.ref()
	mel.eval = func(*machine, []*Array) []*Array { return single(w.clone()) }
	y := n.product("MatMulV2|Torch.matmul", power, mel, false, false)
	floor := max(1e-3*y.spread(), 1e-6) // relative to the signal
	y = n.plus(y, n.addConstant("Const|", &Array{Shape: []int{1}, V: []float64{floor}}, n.typ))
	y = n.log(y)
	y = n.norm(layerNorm, y)
	for range n.between(1, 2) {
		y = n.relu(n.linear(y, 32, true))
	}
	n.linear(y, 8, true)
}

func movers(n *net) {
	x := n.features(4, 6, 8, 10)
	for range n.between(4, 14) {
		switch n.IntN(6) {
		case 0:
			x = n.transpose(x, n.Perm(4)...)
		case 1:
			s := x.shape()
			x = n.reshape(x, s[1], s[0], s[3], s[2])
		case 2:
			axis := n.IntN(4)
			if x.dim(axis)%2 == 0 {
				parts := n.split(x, axis, 2)
				x = n.concat(axis, parts.output(1), parts)
			}
		case 3:
			axis := n.IntN(4)
			if d := x.dim(axis); d > 4 {
				x = n.slice(x, axis, 1, d)
			}
		case 4:
			order := zeros(x.dim(0))
			for i, p := range n.Perm(len(order.V)) {
				order.V[i] = float64(p)
			}
			x = n.gather("GatherV2|Tensor.index_select", x, n.addConstant("Const|", order, I32))
		default:
			x = n.plus(x, n.weight(0.5, 1, x.dim(3)))
		}
	}
	n.linear(n.reshape(x, x.dim(0)*x.dim(1), x.dim(2)*x.dim(3)), 16, true)
}

func dropout(n *net) {
	rows, width := n.rows(16, 48), pick(n, 32, 64)
	keep, fused := 0.9, n.IntN(2) == 0
	if n.IntN(3) == 0 {
		n.npu.draw = 2 // other seeds
	}
	x := n.features(rows, width)
	for range n.between(1, 4) {
		y := n.gelu(n.linear(x, width, true))
		mask := n.mask(keep, rows, width)
		mask.missing = fused
		y = n.binary("DropOutDoMask|Functional.dropout", y, mask, func(v, m float64) float64 { return v * m / keep })
		y.drawn = fused
		x = n.norm(layerNorm, n.plus(x, y))
	}
	n.linear(x, 10, true)
}
