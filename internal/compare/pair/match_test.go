package pair

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// side parses tensors, one for each line "file name", optionally with fields separated by blanks: op=exact name,
// call=of msprobe, place=anything for a call at its place, recorded=of torch.utils.dumper, k=output (of a dump),
// from=original operator, shape=1x2.
func side(t *testing.T, lines ...string) []Tensor {
	t.Helper()
	var tensors []Tensor
	for i, line := range lines {
		fields := strings.Fields(line)
		name := filename.Parse(fields[0])
		x := NewTensor(&name)
		x.ID = i
		if x.Kind == "" {
			x.Kind = tensor.Output
		}
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, "=")
			switch name {
			case "op":
				x.Op = value
			case "call":
				x.Call = value
			case "place":
				x.AtPlace = true
			case "recorded":
				x.Recorded = value
			case "from":
				x.Origin = &dumpdir.Origin{Op: value}
			case "k":
				x.Index, _ = strconv.Atoi(value)
			case "shape":
				x.Shape = nil
				for d := range strings.SplitSeq(value, "x") {
					n, err := strconv.ParseInt(d, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					x.Shape = append(x.Shape, n)
				}
			}
		}
		tensors = append(tensors, x)
	}
	return tensors
}

// text writes a result in lines: pairs as "0-1 name", ambiguities as "0,1?2 name", skipped pairs as "0-1 SKIP_KEY key",
// tensors alone as "ref 0", "npu 0", superseded ones as "ref 0 < 1".
func text(r *Result) string {
	var lines []string
	id := func(n int) string {
		if n < 0 {
			return "."
		}
		return fmt.Sprint(n)
	}
	ids := func(list []int) string {
		var parts []string
		for _, n := range list {
			parts = append(parts, id(n))
		}
		return strings.Join(parts, ",")
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, p := range r.Pairs {
		add("%d-%d %s", p.Ref, p.NPU, p.Rule)
	}
	for _, a := range r.Ambiguous {
		add("%s?%s %s", ids(a.Refs), ids(a.NPUs), a.Rule)
	}
	for _, s := range r.Skipped {
		add("%s-%s %s %s", id(s.Ref), id(s.NPU), s.Code, s.Key)
	}
	for _, u := range r.UnmatchedRef {
		add("ref %d", u.ID)
	}
	for _, u := range r.UnmatchedNPU {
		add("npu %d %s", u.ID, u.Why)
	}
	for _, s := range r.Superseded {
		add("%s %d < %d", map[bool]string{false: "ref", true: "npu"}[s.NPU], s.ID, s.By)
	}
	for _, u := range r.Unused {
		add("unused %s", u)
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

const (
	dump1 = "Conv2D.conv1.3.16.1624605159829577"
	dump2 = "Relu.net_relu1.4.16.1624605159829578"
	late1 = "Conv2D.conv1.3.16.1624605159999999"
)

func lines(s ...string) []string { return s }

func TestMatch(t *testing.T) {
	for name, test := range map[string]struct {
		ref, npu []string
		opt      Options
		want     []string
	}{
		"name: the operator and the output":  {ref: lines("conv1.0.1624.npy", "conv1.1.1624.npy"), npu: lines(dump1+" k=1", dump1), want: lines("0-1 name", "1-0 name")},
		"name: the header counts":            {ref: lines("x.npy op=net/relu1"), npu: lines(dump2 + " op=net/relu1"), want: lines("0-0 name")},
		"name: inputs are not outputs":       {ref: lines(dump1 + ".input.0.npy"), npu: lines(late1), want: lines("ref 0", "npu 0")},
		"stem: equal files":                  {ref: lines("a_b.npy", "c.bin"), npu: lines("a_b.bin", "c.bin"), want: lines("0-0 stem", "1-1 stem")},
		"stem: a dump and what it became":    {ref: lines(dump1 + ".output.0.NCHW.npy"), npu: lines(dump1), want: lines("0-0 stem")},
		"stem: numbers say nothing":          {ref: lines("6271896340817235609.npy op=a"), npu: lines("6271896340817235609.npy op=b"), want: lines("ref 0", "npu 0")},
		"normalised":                         {ref: lines("net_relu1.0.7.npy"), npu: lines(dump2 + " op=net/relu1"), want: lines("0-0 normalised")},
		"normalised: all marks":              {ref: lines("x.npy op=a/b.c:d"), npu: lines("a_b_c_d.bin"), want: lines("0-0 normalised")},
		"normalised: exact comes first":      {ref: lines("a_b.npy"), npu: lines("x.npy op=a/b", "y.npy op=a_b"), want: lines("0-1 name", "npu 0")},
		"normalised: ambiguous":              {ref: lines("a_b.npy"), npu: lines("x.npy op=a/b", "y.npy op=a.b"), want: lines("0?0,1 normalised")},
		"suffix: shape":                      {ref: lines("conv_1_3_224_224.npy shape=1x3x224x224"), npu: lines("conv.bin"), want: lines("0-0 suffix")},
		"suffix: shape on the other side":    {ref: lines("net_conv.npy"), npu: lines("net_conv_1x64x7x7.bin"), want: lines("0-0 suffix")},
		"suffix: the whole name comes first": {ref: lines("conv_1_3.npy", "conv.npy"), npu: lines("conv_1_3.bin", "conv.bin"), want: lines("0-0 stem", "1-1 stem")},
		"suffix: the known shape decides":    {ref: lines("a_1_2_3.npy shape=2x3"), npu: lines("a.bin", "a_1.bin"), want: lines("0-1 suffix", "npu 0")},
		"suffix: one number needs the shape": {ref: lines("relu_1.npy", "fc_10.npy shape=10"), npu: lines("relu.bin", "fc.bin"), want: lines("1-1 suffix", "ref 0", "npu 0")},
		"suffix: numbers are no shape":       {ref: lines("conv_1_1.npy", "layer_1_2.npy shape=7"), npu: lines("conv.npy", "layer.npy"), want: lines("ref 0", "ref 1", "npu 0", "npu 1")},
		"suffix: not a shape after all":      {ref: lines("a.npy"), npu: lines("a_1x3.npy shape=3x1"), want: lines("ref 0", "npu 0")},
		"suffix: two of equal shape":         {ref: lines("a_1x2.npy", "a_1_2.npy shape=1x2"), npu: lines("a.bin"), want: lines("0,1?0 suffix")},
		"two names: the file's":              {ref: lines("conv1.npy"), npu: lines(dump1 + " op=fz"), want: lines("0-0 name")},
		"two names: the header's":            {ref: lines("fz.npy"), npu: lines(dump1 + " op=fz"), want: lines("0-0 name")},
		"two names: normalised":              {ref: lines("net_fz.npy", "net_relu1.npy"), npu: lines(dump1+" op=net/fz", "Relu.net_relu1.4.16.1624605159829578 op=q"), want: lines("0-0 normalised", "1-1 name")},
		"two names: with a shape":            {ref: lines("conv1_1x2.npy"), npu: lines(dump1 + " op=fz"), want: lines("0-0 suffix")},
		"two names: two partners":            {ref: lines("conv1.npy", "fz.npy"), npu: lines(dump1 + " op=fz"), want: lines("0,1?0 name")},
		"two names: an earlier rule":         {ref: lines("conv1.npy", "net_fz.npy"), npu: lines(dump1 + " op=net/fz"), want: lines("0-0 name", "ref 1")},
		"two names: one name of many":        {ref: lines("fz.npy"), npu: lines(dump1+" op=fz", dump2+" op=fz"), want: lines("0?0,1 name")},
		"two names: both on both sides":      {ref: lines(dump1+" op=fz", dump2+" op=fz"), npu: lines("Relu.net_relu1.5.16.1624605159829599 op=fz", late1+" op=fz"), want: lines("0-1 name", "1-0 name")},
		"two names: a number is no name":     {ref: lines("fz.npy"), npu: lines("6271896340817235609.npy op=fz"), want: lines("0-0 name")},
		"suffix: never cut on both sides":    {ref: lines("block_1_1.npy"), npu: lines("block_1_2.bin"), want: lines("ref 0", "npu 0")},
		"suffix: timestamps":                 {ref: lines("conv_1624605159829577.npy"), npu: lines("conv_1624605159829999.npy"), want: lines("0-0 suffix")},
		"no substring":                       {ref: lines("conv1.npy"), npu: lines("conv10.npy", "myconv1.npy"), want: lines("ref 0", "npu 0", "npu 1")},
		"ambiguous: two of the reference":    {ref: lines("conv1.npy", "conv1.0.5.npy"), npu: lines(dump1), want: lines("0,1?0 name")},
		"ambiguous: two of the NPU":          {ref: lines("conv1.0.5.npy"), npu: lines(dump1, "TransData.conv1.3.16.1624605159829579"), want: lines("0?0,1 name")},
		"ambiguous: two and two":             {ref: lines("conv1.npy", "conv1.0.5.npy"), npu: lines(dump1, "TransData.conv1.3.16.1624605159829579"), want: lines("0,1?0 name", "0,1?1 name")},

		"superseded: by number, not by text": {ref: lines("conv1.0.9.npy", "conv1.0.10.npy"), npu: lines(late1, dump1), want: lines("1-0 name", "ref 0 < 1", "npu 1 < 0")},
		"superseded: not other files":        {ref: lines("conv1.npy", "conv2.npy"), npu: lines(dump1+" op=fz", "Conv2D.conv2.4.16.1624605159829578 op=fz"), want: lines("0-0 name", "1-1 name")},
		"superseded: not other headers":      {ref: lines("p.npy", "q.npy"), npu: lines(dump1+" op=p", late1+" op=q"), want: lines("0-0 name", "1-1 name")},
		"superseded: of two names":           {ref: lines("conv1.npy"), npu: lines(dump1+" op=fz", late1+" op=fz"), want: lines("0-1 name", "npu 0 < 1")},
		"superseded: not other outputs":      {ref: lines("conv1.0.9.npy", "conv1.1.10.npy"), want: lines("ref 0", "ref 1")},
		"superseded: not without timestamp":  {ref: lines("conv1.npy", "conv1.0.10.npy"), want: lines("ref 0", "ref 1")},
		"superseded: modules are no runs":    {ref: lines("layer.0.1.npy", "layer.0.2.npy"), npu: lines("layer.0.2.npy", "layer.0.1.npy"), want: lines("0-1 stem", "1-0 stem")},
		"superseded: though one file is old": {ref: lines("a.0.1000.npy", "a.0.2000.npy"), npu: lines("a.0.1000.npy"), want: lines("1-0 name", "ref 0 < 1")},

		"original: of the header":         {ref: lines("relu1.npy", "conv1.npy"), npu: lines(late1+" from=relu1", "Conv2D.x.4.16.1624605159999999 from=relu1"), want: lines("0-1 original_op", "1-0 name")},
		"original: as file names have it": {ref: lines("net_relu1.npy"), npu: lines("Conv2D.x.4.16.1624605159999999 from=net/relu1"), want: lines("0-0 original_op")},
		"original: of two":                {ref: lines("relu1.npy"), npu: lines("Conv2D.x.4.16.1624605159999999 from=relu1", "TransData.y.5.16.1624605159999999 from=relu1"), want: lines("0?0,1 original_op")},
		"number: of another graph":        {ref: lines("a_Conv2D-op515.npy"), npu: lines("a_Conv2D-op516.npy", "b_Conv2D-op515.npy"), want: lines("0-0 op number", "npu 1")},
		"number: the k-th": {ref: lines("a_Conv2D-op9.npy", "a_Conv2D-op10.npy", "a_Conv2D-op10_2.npy"), npu: lines("a_Conv2D-op71.npy", "a_Conv2D-op30.npy", "a_Conv2D-op8.npy"),
			want: lines("0-2 op number", "1-1 op number", "2-0 op number")},
		"number: equal names come first": {ref: lines("a_Add-op1.npy", "a_Add-op5.npy"), npu: lines("a_Add-op5.npy", "a_Add-op9.npy"), want: lines("0-1 op number", "1-0 stem")},
		"number: not as many": {ref: lines("a_Add-op1.npy", "a_Add-op2.npy"), npu: lines("a_Add-op5.npy"),
			want: lines("ref 0", "ref 1", "npu 0 2 operators of the reference and 1 of the NPU have this name without its number: use --map-node-dict to choose")},
		"number: a name without one": {ref: lines("a_Add.npy"), npu: lines("a_Add-op5.npy"), want: lines("ref 0", "npu 0")},
		"number: outputs go along":   {ref: lines("A.a-op1.1.2.1624605159829577 k=0", "A.a-op1.1.2.1624605159829577 k=1"), npu: lines("A.a-op7.1.2.1624605159829577 k=1", "A.a-op7.1.2.1624605159829577 k=0"), want: lines("0-1 op number", "1-0 op number")},
		"slices: equal threads":      {ref: lines(dump1+".4.1.0", dump1+".4.1.1"), npu: lines(late1+".4.2.1", late1+".4.2.0"), want: lines("0-1 name", "1-0 name")},
		"slices: of one whole":       {ref: lines("conv1.npy"), npu: lines(late1+".4.2.1", late1+".4.2.0"), want: lines("0?0,1 name")},
		"inputs: by kind":            {ref: lines(dump1+".input.0.npy", dump1+".output.0.npy"), npu: lines(late1+".output.0.npy", late1+".input.0.npy"), want: lines("0-1 name", "1-0 name")},
		"inputs: outputs only":       {ref: lines(dump1+".input.0.npy", dump1+".output.0.npy"), npu: lines(late1+".output.0.npy", late1+".input.0.npy"), opt: Options{Kind: tensor.Output}, want: lines("1-0 name")},
		"nothing":                    {},
	} {
		got := text(Match(side(t, test.ref...), side(t, test.npu...), test.opt))
		if diff := gocmp.Diff(strings.Join(test.want, "\n"), got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func nameMap(t *testing.T, text string) *sidefile.NameMap {
	t.Helper()
	m, err := sidefile.ParseNameMap(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMatchMap(t *testing.T) {
	ref := side(t, "a.npy", "b.npy", "net_c.npy", "d.npy", "d.1.5.npy")
	npu := side(t, "a.bin", "x.bin op=b2", "c2.bin", "d2.bin", "b.bin")
	opt := Options{Map: nameMap(t, `{"b":"b2","net/c":"c2","d":"d2"}`)}
	want := lines(
		"0-0 stem", "1-1 map", "2-2 map", "3-3 map", // net/c is in a file name
		"ref 4",
		"npu 4", // b is mapped to another tensor
	)
	if diff := gocmp.Diff(strings.Join(want, "\n"), text(Match(ref, npu, opt))); diff != "" {
		t.Error(diff)
	}
	opt.Map = nameMap(t, `{"gone":"a"}`)
	got := Match(ref[:1], npu[:1], opt)
	if len(got.UnmatchedNPU) != 1 || got.UnmatchedNPU[0].Why.String() != "the name map pairs it with gone, which has no free tensor left" {
		t.Errorf("%+v", got)
	}
}

func TestMatchFusion(t *testing.T) {
	conv := "Conv2D.net_conv1relu1.3.16.1624605159829577 op=net/conv1relu1"
	trans := "TransData.trans.4.16.1624605159829578 op=trans"
	opt := Options{Fusion: fusedGraph(t)}
	for name, test := range map[string]struct {
		ref, npu, want []string
	}{
		"one origin, two results": {lines("net_relu1.1.5.npy", "net_conv1.0.5.npy"), lines(conv, trans), lines("0-0 fusion", "0-1 fusion", "ref 1")},
		"the exact name":          {lines("x.npy op=net/relu1 k=1"), lines(conv), lines("0-0 fusion")},
		"with a shape":            {lines("x.npy op=net/relu1_1_8_8_64 k=1 shape=1x8x8x64"), lines(conv), lines("0-0 fusion")},
		"the origin is missing":   {lines("net_conv1relu1.0.5.npy"), lines(conv), lines("ref 0", "npu 0 it is part of net/relu1:output:1 of the model, which the reference lacks")},
		"two runs of the NPU":     {lines("Conv2D.net_conv1relu1.9.9.1624605150000000"), lines(conv), lines("0-0 name")},
		"without an origin":       {lines("net_conv1relu1.1.5.npy"), lines(conv + " k=1"), lines("0-0 normalised")},
		"an input":                {lines("input_x.0.5.npy"), lines("Conv2D.net_conv1relu1.3.16.1624605159829577.input.0.npy"), lines("0-0 fusion")},
		"an input without origin": {lines("net_conv1relu1.2.5.npy"), lines("Conv2D.net_conv1relu1.3.16.1624605159829577.input.2.npy"), lines("ref 0", "npu 0")},
		"the same result twice":   {lines("net_relu1.1.5.npy"), lines(conv, "Conv2D.net_conv1relu1.3.16.1624605159829577.output.0.npy op=net/conv1relu1"), lines("0?0,1 fusion")},
		"two origins":             {lines("net_relu1.1.5.npy", "net_relu1_1_8_8_64.1.5.npy", "x.npy op=net/relu1 k=1"), lines(conv), lines("2-0 fusion", "ref 0", "ref 1")},
	} {
		got := text(Match(side(t, test.ref...), side(t, test.npu...), opt))
		if diff := gocmp.Diff(strings.Join(test.want, "\n"), got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func nameSet(t *testing.T, names ...string) *dumpdir.NameSet {
	t.Helper()
	s, err := dumpdir.NewNameSet(names)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMatchSkips(t *testing.T) {
	ref := side(t, "conv_span.npy", "conv.npy", "net_a.npy", "Conv.npy", "alone_span.npy", "m1.npy")
	npu := side(t, "conv_span.bin", "conv.bin", "x.bin op=net/a", "Conv.bin", "lone_span.bin", "m2_span.bin")
	opt := Options{
		Map:      nameMap(t, "{'m1':'m2_span'}"),
		SkipKeys: []string{"_span", "nothing"},
		Exclude:  nameSet(t, "net/a", "re:C.*v", "re:on", "absent"),
	}
	want := lines("1-1 stem",
		"0-0 SKIP_KEY _span", "2-2 EXCLUDED net/a", "3-3 EXCLUDED re:C.*v", "5-5 SKIP_KEY _span",
		"4-. SKIP_KEY _span", ".-4 SKIP_KEY _span",
		"unused nothing", "unused absent", "unused re:on")
	got := strings.Split(text(Match(ref, npu, opt)), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSkippingResolvesAmbiguity(t *testing.T) {
	ref, npu := side(t, "conv1.npy"), side(t, dump1, "Conv2D.conv1.3.16.1624605159829577.output.0.npy op=net/conv1")
	got := text(Match(ref, npu, Options{Exclude: nameSet(t, "net/conv1")}))
	if want := "0-0 name\n.-1 EXCLUDED net/conv1"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMatchOps(t *testing.T) {
	ref := side(t, "a.npy", "b.npy", "m1.npy", "c.npy", "d.0.1.npy", "d.0.2.npy")
	npu := side(t, "a.bin", "b.bin", "m2.bin", "x.bin")
	opt := Options{Map: nameMap(t, "{'m1':'m2'}"), SkipKeys: []string{"b"}, Ops: nameSet(t, "a", "m2", "re:[cd]", "q")}
	want := "0-0 stem\n2-2 map\nref 3\nref 5\nref 4 < 5\nunused q"
	if diff := gocmp.Diff(want, text(Match(ref, npu, opt))); diff != "" {
		t.Error(diff)
	}
}

// Pairing takes linear time, however similar the names are.
func TestMatchMany(t *testing.T) {
	const n = 20000
	for name, format := range map[string][2]string{
		"different": {"net/block_%d/conv", "net_block_%d_conv"},
		"alike":     {"relu_%d_1", "relu_%d_2"},
	} {
		var ref, npu []Tensor
		for i := range n {
			ref = append(ref, Tensor{ID: i, Op: fmt.Sprintf(format[0], i), Kind: tensor.Output})
			npu = append(npu, Tensor{ID: i, FileOp: fmt.Sprintf(format[1], n-1-i), Kind: tensor.Output})
		}
		npu = append(npu, Tensor{ID: n, FileOp: "relu", Kind: tensor.Output})
		r := Match(ref, npu, Options{})
		pairs := map[string]int{"different": n}[name]
		if len(r.Pairs) != pairs || len(r.Ambiguous) > 1 {
			t.Errorf("%s: %d pairs, %d ambiguous", name, len(r.Pairs), len(r.Ambiguous))
		}
		for _, p := range r.Pairs {
			if p.NPU != n-1-p.Ref || p.Rule != RuleNormalised {
				t.Fatalf("%+v", p)
			}
		}
	}
}

func TestMatchManyOfOneName(t *testing.T) {
	const n = 20000
	var ref, npu []Tensor
	for i := range n {
		ref = append(ref, Tensor{ID: i, FileOp: "a", Kind: tensor.Output})
		npu = append(npu, Tensor{ID: i, FileOp: "a", Kind: tensor.Output})
	}
	r := Match(ref, npu, Options{})
	if len(r.Pairs) != 0 || len(r.Ambiguous) != n || len(r.Ambiguous[0].Refs) != maxCandidates {
		t.Errorf("%d pairs, %d ambiguous", len(r.Pairs), len(r.Ambiguous))
	}
	if r = Match(ref[:1], npu, Options{}); len(r.Ambiguous) != 1 || len(r.Ambiguous[0].NPUs) != n {
		t.Errorf("%d ambiguous", len(r.Ambiguous))
	}
}

// drawSide returns a few tensors with names that often collide.
func drawSide(t *rapid.T, label string) []Tensor {
	ops := []string{"a", "a/b", "a_b", "a.b", "a_1_2", "a_b_1_2", "c", "c_1624605159829577", "span", "a-b_output_0", "ccc", "ddd", "cccddd"}
	n := rapid.IntRange(0, 7).Draw(t, label)
	all := make([]Tensor, n)
	for i := range all {
		name := rapid.SampledFrom(ops).Draw(t, "op")
		all[i] = Tensor{
			ID: i, FileOp: filename.Normalise(name), Kind: tensor.Output, Index: rapid.IntRange(0, 1).Draw(t, "index"),
			Timestamp: uint64(rapid.IntRange(0, 3).Draw(t, "timestamp")),
			Stem:      fmt.Sprint(label, i, name),
		}
		if rapid.Bool().Draw(t, "header") {
			all[i].Op = rapid.SampledFrom(append([]string{name, name, name}, ops...)).Draw(t, "op of the header")
		}
		if rapid.Bool().Draw(t, "with shape") {
			all[i].Shape = rapid.SampledFrom([]tensor.Shape{{1, 2}, {2}, {7}}).Draw(t, "shape")
		}
	}
	return all
}

// Every tensor is in the result, no two tensors share a partner, and the result does not
// depend on the order of the tensors.
func TestMatchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref, npu := drawSide(t, "ref"), drawSide(t, "npu")
		opt := Options{SkipKeys: []string{"span"}}
		r := Match(ref, npu, opt)
		refSeen, npuSeen := make(map[int]int), make(map[int]int)
		partners := make(map[int]bool)
		for _, p := range r.Pairs {
			refSeen[p.Ref]++
			npuSeen[p.NPU]++
			if at := p.Ref; partners[at] {
				t.Fatalf("two partners: %s", text(r))
			} else {
				partners[at] = true
			}
			checkPair(t, &ref[p.Ref], &npu[p.NPU], p)
		}
		for _, a := range r.Ambiguous {
			if len(a.Refs)*len(a.NPUs) < 2 || min(len(a.Refs), len(a.NPUs)) != 1 {
				t.Fatalf("no ambiguity: %+v", a)
			}
			for _, id := range a.Refs {
				refSeen[id]++
			}
			for _, id := range a.NPUs {
				npuSeen[id]++
			}
		}
		for _, s := range r.Skipped {
			refSeen[s.Ref]++
			npuSeen[s.NPU]++
		}
		alone := make(map[string]int)
		for _, u := range r.UnmatchedRef {
			refSeen[u.ID]++
			alone[fmt.Sprint("ref", u.ID)]++
		}
		for _, u := range r.UnmatchedNPU {
			npuSeen[u.ID]++
			alone[fmt.Sprint("npu", u.ID)]++
		}
		for _, s := range r.Superseded {
			if s.NPU {
				npuSeen[s.ID]++
			} else {
				refSeen[s.ID]++
			}
		}
		for i := range ref {
			if refSeen[i] == 0 || alone[fmt.Sprint("ref", i)] > 0 && refSeen[i] > 1 {
				t.Fatalf("ref %d is in the result %d times:\n%s", i, refSeen[i], text(r))
			}
		}
		for i := range npu {
			if npuSeen[i] == 0 || alone[fmt.Sprint("npu", i)] > 0 && npuSeen[i] > 1 {
				t.Fatalf("npu %d is in the result %d times:\n%s", i, npuSeen[i], text(r))
			}
		}
		again := Match(rapid.Permutation(ref).Draw(t, "refs"), rapid.Permutation(npu).Draw(t, "npus"), opt)
		if a, b := pairsOf(r), pairsOf(again); !slices.Equal(a, b) {
			t.Fatalf("%v in another order %v", a, b)
		}
	})
}

// checkPair checks that the rule of a pair explains it.
func checkPair(t *rapid.T, ref, npu *Tensor, p Pair) {
	if ref.Index != npu.Index {
		t.Fatalf("%+v with %+v as %+v", ref, npu, p)
	}
	ok := false
	for _, one := range []string{ref.Op, ref.FileOp} {
		for _, other := range []string{npu.Op, npu.FileOp} {
			a, b := filename.Normalise(one), filename.Normalise(other)
			switch p.Rule {
			case RuleName:
				ok = ok || one == other
			case RuleNormalised:
				ok = ok || a == b
			case RuleSuffix:
				ok = ok || a != b && (isSuffixed(a, b, ref) || isSuffixed(b, a, npu))
			case RuleExporter:
				a, b = strings.TrimSuffix(a, "_output_0"), strings.TrimSuffix(b, "_output_0")
				ok = ok || strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_") && areEqualShapes(ref, npu)
			case RuleATC:
				ok = ok || a == "ddd" && b == "cccddd" && areEqualShapes(ref, npu)
			}
		}
	}
	if !ok {
		t.Fatalf("%q with %q by %s", ref.Name(), npu.Name(), p.Rule)
	}
}

// areEqualShapes compares the shapes of drawSide: 1x2 and 2 are the same: an axis of length 1 does not matter.
func areEqualShapes(a, b *Tensor) bool {
	return a.Shape != nil && b.Shape != nil && a.Shape[len(a.Shape)-1] == b.Shape[len(b.Shape)-1]
}

// A shape is requested at most once, and only of a tensor whose name ends with a shape that
// prevents a pair.
func TestMatchAsksForShapes(t *testing.T) {
	ref := side(t, "conv_64.npy", "relu_1.npy", "fc_2_3.npy", "add_1x2.npy", "pool_5.npy", "pool_6.npy", "a_1.npy")
	npu := side(t, "conv.bin", "relu_1.bin", "fc.bin", "add.bin", "mul_7.bin", "a.bin", "a_1.bin", "pool.bin op=q")
	shapes := map[int][]tensor.Shape{0: {{64}}, 2: {{3, 2}, {2, 3}}, 3: {{5}}, 4: {{5}}, 5: {{1}}}
	var asked []string
	r := Match(ref, npu, Options{Shapes: func(id int, npu bool) []tensor.Shape {
		asked = append(asked, fmt.Sprint(id, npu))
		return shapes[id]
	}})
	want := lines("0-0 suffix", "1-1 stem", "2-2 suffix", "4-7 suffix", "6-6 stem", "ref 3", "ref 5", "npu 3", "npu 4", "npu 5")
	if diff := gocmp.Diff(strings.Join(want, "\n"), text(r)); diff != "" {
		t.Error(diff)
	}
	slices.Sort(asked)
	if diff := gocmp.Diff([]string{"0 false", "2 false", "3 false", "4 false", "5 false"}, asked); diff != "" {
		t.Errorf("asked for:\n%s", diff)
	}
	asked = nil
	r = Match(side(t, "conv.npy", "relu.npy"), side(t, "conv_64.npy", "relu_1.npy"), Options{Shapes: func(id int, npu bool) []tensor.Shape {
		asked = append(asked, fmt.Sprint(id, npu))
		return []tensor.Shape{{64}}
	}})
	if diff := gocmp.Diff("0-0 suffix\nref 1\nnpu 1", text(r)); diff != "" || len(asked) != 2 {
		t.Errorf("asked for %v:\n%s", asked, diff)
	}
}

// isSuffixed reports whether name, of t, is short followed by the shape of t or by a
// timestamp.
func isSuffixed(name, short string, t *Tensor) bool {
	rest, ok := strings.CutPrefix(name, short+"_")
	var dims []string
	for _, d := range t.Shape {
		dims = append(dims, fmt.Sprint(d))
	}
	return ok && (rest == "1624605159829577" || t.Shape != nil && rest == strings.Join(dims, "_"))
}

func pairsOf(r *Result) []Pair {
	pairs := slices.Clone(r.Pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.NPU, b.NPU)) })
	return pairs
}

func TestShapesAtTheEndOfNames(t *testing.T) {
	for _, test := range []struct {
		name  string
		shape tensor.Shape
		want  []string
	}{
		{"a_1_2_3", nil, nil},
		{"a_1_2_3", tensor.Shape{1, 2, 3}, []string{"a"}},
		{"a_1_2_3", tensor.Shape{2, 3}, []string{"a_1"}},
		{"a_1_2_3", tensor.Shape{6}, nil},
		{"a_3", tensor.Shape{3}, []string{"a"}},
		{"a_3", tensor.Shape{4}, nil},
		{"a_3", nil, nil},
		{"a_1x3", nil, []string{"a"}},
		{"a_1x3", tensor.Shape{1, 3}, []string{"a"}},
		{"a_1x3", tensor.Shape{3}, nil},
		{"a_02_3", tensor.Shape{2, 3}, nil},
		{"1_2_3", tensor.Shape{2, 3}, []string{"1"}},
		{"1_2", tensor.Shape{1, 2}, nil},
		{"a_1_1_1_1_1_1_1_1_1_1", tensor.Shape{1, 1, 1, 1, 1, 1, 1, 1}, []string{"a_1_1"}},
		{"a_1_1_1_1_1_1_1_1_1_1", tensor.Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}, nil},
	} {
		var got []string
		ref := []Tensor{{FileOp: test.name, Kind: tensor.Output, Shape: test.shape}}
		for _, s := range filename.ShapeSuffixes(test.name) {
			if res := Match(ref, []Tensor{{FileOp: s.Head, Kind: tensor.Output}}, Options{}); len(res.Pairs) > 0 {
				got = append(got, s.Head)
			}
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

func readGraph(t testing.TB, text string) *graph.Graph {
	t.Helper()
	g, err := graph.ReadFusion(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fusedGraph has net/conv1relu1, whose output 0 corresponds to output 1 of
// net/relu1.
func fusedGraph(t testing.TB) *graph.Graph {
	t.Helper()
	text, err := os.ReadFile("../../graph/testdata/fused.json")
	if err != nil {
		t.Fatal(err)
	}
	return readGraph(t, string(text))
}

// BenchmarkMatch pairs a hundred thousand tensors of each side, by the last rule but
// one.
func BenchmarkMatch(b *testing.B) {
	const n, stamp = 100000, 1624605159829577
	ref, npu := make([]Tensor, n), make([]Tensor, n)
	for i := range n {
		ref[i] = Tensor{ID: i, FileOp: fmt.Sprintf("net_block%d_conv", i), Stem: fmt.Sprintf("net_block%d_conv.0.%d", i, stamp), Timestamp: stamp, Kind: tensor.Output}
		npu[i] = Tensor{ID: i, Op: fmt.Sprintf("net/block%d/conv", n-1-i), OpType: "Conv2D", Timestamp: stamp + 1, Kind: tensor.Output}
	}
	for b.Loop() {
		if r := Match(ref, npu, Options{}); len(r.Pairs) != n {
			b.Fatal(len(r.Pairs))
		}
	}
}
