package ranks

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/ranks/locate"
	"dumptool/internal/tensor"
)

// dimsMesh begins the files of these tests.
const dimsMesh = "mesh: {tp: 4, cp: 2, dp: 2}\n"

func parseDims(t *testing.T, text string) *Dims {
	t.Helper()
	d, err := ParseDims("dims.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// slicesOf are the numbers of ranges, each from the first up to behind the last.
func slicesOf(ranges ...[2]int) (x locate.Index) {
	for _, r := range ranges {
		for i := r[0]; i < r[1]; i++ {
			x = append(x, i)
		}
	}
	return x
}

// TestDimsIndexes: what ranks have by a rule, worked out by hand. Rank 5 of tp=4, cp=2, dp=2 is
// tp 1, cp 1, dp 0; rank 14 is tp 2, cp 1, dp 1.
func TestDimsIndexes(t *testing.T) {
	padding := func(n int) locate.Index { return slices.Repeat(locate.Index{locate.Padding}, n) }
	for _, c := range []struct {
		rule        string
		rank        int
		part, whole tensor.Shape
		want        []locate.Index
	}{
		{"o[tp] i", 5, tensor.Shape{2, 3}, tensor.Shape{8, 3}, []locate.Index{slicesOf([2]int{2, 4}), nil}},
		{"...", 5, tensor.Shape{8, 3}, tensor.Shape{8, 3}, []locate.Index{nil, nil}},
		{"... h[tp]", 14, tensor.Shape{5, 3, 2}, tensor.Shape{5, 3, 8}, []locate.Index{nil, nil, slicesOf([2]int{4, 6})}},
		{"h[tp] ...", 14, tensor.Shape{2, 3}, tensor.Shape{8, 3}, []locate.Index{slicesOf([2]int{4, 6}), nil}},
		{"s[cp:zigzag] b[dp]", 5, tensor.Shape{4, 1}, tensor.Shape{8, 2}, []locate.Index{slicesOf([2]int{2, 6}), slicesOf([2]int{0, 1})}},
		{"s[cp:zigzag] b[dp]", 0, tensor.Shape{4, 1}, tensor.Shape{8, 2}, []locate.Index{slicesOf([2]int{0, 2}, [2]int{6, 8}), slicesOf([2]int{0, 1})}},
		// Sequence parallel: the zigzag of cp 0 of 16 is 0-3 and 12-15; tp 2 of 4 has its third quarter.
		{"s[cp:zigzag,tp]", 2, tensor.Shape{2}, tensor.Shape{16}, []locate.Index{slicesOf([2]int{12, 14})}},
		// Heads of q, k and v: of 64, 16 and 16 each fourth.
		{"o[tp:fused=64/16/16] i", 5, tensor.Shape{24, 2}, tensor.Shape{96, 2}, []locate.Index{slicesOf([2]int{16, 32}, [2]int{68, 72}, [2]int{84, 88}), nil}},
		// Two heads of k and v, of 8 rows, on four ranks: two ranks have the same.
		{"o[tp:fused=64/16/16]", 5, tensor.Shape{32}, tensor.Shape{96}, []locate.Index{slicesOf([2]int{16, 32}, [2]int{64, 72}, [2]int{80, 88})}},
		{"o[tp:fused=64/16/16]", 14, tensor.Shape{32}, tensor.Shape{96}, []locate.Index{slicesOf([2]int{32, 48}, [2]int{72, 80}, [2]int{88, 96})}},
		{"o[tp:fused=8/8]", 3, tensor.Shape{4}, tensor.Shape{16}, []locate.Index{slicesOf([2]int{6, 8}, [2]int{14, 16})}},
		// A vocabulary of 90 in four parts of 24: the last has 18 and 6 of padding.
		{"v[tp:pad=90] h", 3, tensor.Shape{24, 2}, tensor.Shape{90, 2}, []locate.Index{append(slicesOf([2]int{72, 90}), padding(6)...), nil}},
		{"v[tp:pad=90] h", 0, tensor.Shape{24, 2}, tensor.Shape{90, 2}, []locate.Index{slicesOf([2]int{0, 24}), nil}},
		{"s[cp:block=2]", 5, tensor.Shape{4}, tensor.Shape{8}, []locate.Index{slicesOf([2]int{2, 4}, [2]int{6, 8})}},
		{"s[pp] b", 5, tensor.Shape{8, 2}, tensor.Shape{8, 2}, []locate.Index{nil, nil}}, // pp has one rank
		{"h[dp] # dp:=cp", 5, tensor.Shape{4}, tensor.Shape{8}, []locate.Index{slicesOf([2]int{4, 8})}},
		{"1 h[cp]", 0, tensor.Shape{1, 4}, tensor.Shape{1, 8}, []locate.Index{nil, slicesOf([2]int{0, 4})}},
		{"(a*b)[cp]", 0, tensor.Shape{4}, tensor.Shape{8}, []locate.Index{slicesOf([2]int{0, 4})}},
	} {
		d := parseDims(t, dimsMesh+"tensors: [{match: x, dims: '"+c.rule+"'}]\n")
		got, err := d.indexes(d.rules[0], c.rank, c.part, c.whole)
		if err != nil || !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s of rank %d: %v %v, want %v", c.rule, c.rank, got, err, c.want)
		}
	}
}

// TestDimsTile: by every way of cutting the ranks of an axis have each slice of the reference
// as often as there are other ranks.
func TestDimsTile(t *testing.T) {
	for _, rule := range []string{"[tp]", "[cp:zigzag]", "[tp:fused=32/16/16]", "[tp:block=4]", "[cp:zigzag,tp]", "[tp,cp]", "[dp,tp:block=2]"} {
		d := parseDims(t, dimsMesh+"tensors: [{match: x, dims: 's"+rule+"'}]\n")
		cuts := d.rules[0].axes[0].cuts
		part := 64
		for _, c := range cuts {
			_, n := d.along(0, c.axis)
			part /= n
		}
		times := make([]int, 64)
		for rank := range 16 {
			got, err := d.indexes(d.rules[0], rank, tensor.Shape{int64(part)}, tensor.Shape{64})
			if err != nil {
				t.Fatal(rule, err)
			}
			for _, i := range got[0] {
				times[i]++
			}
		}
		if want := 16 * part / 64; slices.ContainsFunc(times, func(n int) bool { return n != want }) {
			t.Errorf("%s: %v, want %d of each", rule, times, want)
		}
	}
}

// TestDimsErrors: what is wrong with a file, with its line and column.
func TestDimsErrors(t *testing.T) {
	rule := func(text string) string { return dimsMesh + "tensors:\n- {match: x, dims: '" + text + "'}\n" }
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"tensors:\n", ""},
		{"meshes: {}\n", `line 1, column 1: found the key "meshes", want one of layers, mesh, ranks, reference, replicas, tensors`},
		{"- 1\n", `line 1, column 1: found "", want keys with values`},
		{"mesh: {tp: 2\n", `line 1, column 1: did not find expected ',' or '}'`},
		{"mesh:\n  tp: two\n", `line 2, column 7: found "two", want a number from 1 to 1048576`},
		{"mesh: {tp: 2, tp: 4}\n", `line 1, column 15: found the key "tp" twice`},
		{"mesh: {tp: 2, sp: 4}\n", `line 1, column 15: found the axis "sp", want one of tp, cp, ep, dp, pp, or order`},
		{"mesh: {order: tp-tp, tp: 2}\n", `line 1, column 7: order: found "tp", want tp-cp-ep-dp-pp, each once`},
		{"mesh: {order: dp, tp: 2}\n", `line 1, column 7: order: found no tp, want every axis that has a size`},
		{"mesh: {tp: 2}\nranks: {0: {tp: 0}}\n", `line 1, column 1: found mesh and ranks, want one of them`},
		{"ranks: {0: {'t p': 0}}\n", `line 1, column 13: found the axis "t p", want letters, digits and _`},
		{"ranks: {-1: {tp: 0}}\n", `line 1, column 9: found "-1", want a number from 0 to 1048576`},
		{"mesh: &a {tp: 2}\n", `line 1, column 7: found an anchor or alias, want none`},
		{"layers: {offset: {pp: [[[1]]]}}\n", `line 1, column 25: found lists or keys that lie deeper than 4 in each other`},
		{"layers: {offset: {pp: [0, [1]]}}\n", `line 1, column 9: found numbers and lists, want a number or a list for every stage`},
		{"layers: {shift: 1}\n", `line 1, column 10: found the key "shift", want one of offset`},
		{"reference: {tp: 2}\n", `line 1, column 17: found tp=2, want 1: the reference is of one rank`},
		{dimsMesh + "tensors:\n- {match: '(', dims: h}\n", "line 3, column 11: error parsing regexp: missing closing ): `(`"},
		{dimsMesh + "tensors:\n- {match: x}\n", `line 3, column 3: found a rule without match or dims, want both`},
		{dimsMesh + "tensors:\n- {match: x, dims: h}\n- {match: y, dims: h}\n- {match: x, dims: b}\n", `line 5, column 3: found a second rule for "x", the first is in line 3`},
		{dimsMesh + "tensors:\n- match: x\n  dims: 's h[zz]'\n", `line 4, column 14: found the axis "zz", want one of tp, cp, ep, dp, pp`},
		{"ranks: {0: {moe: 0}, 1: {moe: 1}}\ntensors: [{match: x, dims: 'h[sp]'}]\n", `line 2, column 31: found the axis "sp", want one of tp, cp, ep, dp, pp, moe`},
		{rule("s[tp"), `line 3, column 21: found "s[tp", want name[axis:how], without spaces`},
		{rule("s h-i"), `line 3, column 23: found "h-i", want the name of an axis, 1 or ...`},
		{rule("... s ..."), `line 3, column 27: found a second ..., want one at most`},
		{rule("s[cp:zagzig]"), `line 3, column 26: found "zagzig", want zigzag, partial, replicated, fused=, pad=, block= or expert=`},
		{rule("s[cp:zigzag=2]"), `line 3, column 26: found "zigzag=2", want zigzag, partial, replicated, fused=, pad=, block= or expert=`},
		{rule("s[cp:zigzag+pad=4]"), `line 3, column 33: found "pad=4" besides zigzag, want one way of cutting`},
		{rule("s[tp:fused=8/0]"), `line 3, column 26: found "fused=8/0", want the sizes of the parts, such as fused=64/16/16`},
		{rule("s[tp:pad]"), `line 3, column 26: found "pad", want the slices of the reference, such as pad=90`},
		{rule("s[tp:pad=9/9]"), `line 3, column 26: found "pad=9/9", want the slices of the reference, such as pad=90`},
		{rule("s[tp:replicated]"), `line 3, column 23: found "replicated" inside of [], want it behind #`},
		{rule("s # tp:zigzag"), `line 3, column 25: found "tp:zigzag" behind #, want axis:replicated, axis:partial, axis:expert=2 or axis:=other`},
		{rule("s # sp:partial"), `line 3, column 25: found the axis "sp", want one of tp, cp, ep, dp, pp`},
		{rule("s # dp:=moe"), `line 3, column 29: found the axis "moe", want one of tp, cp, ep, dp, pp`},
		{"replicas: [{match: x}]\n", `line 1, column 12: found replicas without match or over, want both`},
		{"replicas: [{match: x, over: [sp]}]\n", `line 1, column 30: found the axis "sp", want one of tp, cp, ep, dp, pp`},
		{rule("skip"), ""},
		{rule("s b h # tp:partial"), ""},
		{rule("... # ep:expert=2 tp:replicated"), ""},
	} {
		want := c.want
		if want != "" {
			want = "dims.yaml: " + want
		}
		if _, err := ParseDims("dims.yaml", []byte(c.in)); text(err) != want {
			t.Errorf("%q:\n %v, want\n %s", c.in, err, want)
		}
	}
}

// TestDimsSizes: sizes that do not tile are named with the place of the rule.
func TestDimsSizes(t *testing.T) {
	for _, c := range []struct {
		rule        string
		part, whole tensor.Shape
		want        string
	}{
		{"o[tp] i", tensor.Shape{2}, tensor.Shape{8, 3}, "line 3, column 3: the tensor has 1 axes, the reference 2: want as many"},
		{"o[tp]", tensor.Shape{2, 3}, tensor.Shape{8, 3}, "line 3, column 3: the rule has 1 axes, the tensor 2: want as many"},
		{"o[tp] i j ...", tensor.Shape{2, 3}, tensor.Shape{8, 3}, "line 3, column 3: the rule has 3 axes, the tensor 2: want as many"},
		{"o[tp] i", tensor.Shape{3, 3}, tensor.Shape{8, 3}, "line 3, column 23: the cut leaves 2 of 8 slices, the tensor has 3"},
		{"o[tp] i", tensor.Shape{2, 3}, tensor.Shape{9, 3}, "line 3, column 23: 9 slices do not make 4 equal blocks (tp)"},
		{"o i[tp]", tensor.Shape{8, 3}, tensor.Shape{9, 12}, "line 3, column 3: an axis that is not cut has 8 slices, the reference 9"},
		{"s[cp:zigzag]", tensor.Shape{3}, tensor.Shape{6}, "line 3, column 23: 6 slices do not make the 4 chunks of a zigzag (cp)"},
		{"o[tp:fused=8/8]", tensor.Shape{3}, tensor.Shape{12}, "line 3, column 23: the fused parts have 16 slices, the reference 12"},
		{"o[tp:fused=8/6]", tensor.Shape{3}, tensor.Shape{14}, "line 3, column 23: a fused part of 6 slices does not make 4 equal blocks (tp)"},
		{"v[tp:pad=90]", tensor.Shape{24}, tensor.Shape{96}, "line 3, column 23: pad=90 is not the number of slices of the reference, 96"},
		{"v[tp:pad=90]", tensor.Shape{22}, tensor.Shape{90}, "line 3, column 23: 4 ranks of 22 slices do not hold 90 (tp)"},
		{"v[tp:block=3]", tensor.Shape{4}, tensor.Shape{16}, "line 3, column 23: 16 slices do not make blocks of 3 for 4 ranks (tp)"},
		{"1 h", tensor.Shape{2, 4}, tensor.Shape{2, 4}, "line 3, column 3: the axis 1 has 2 slices, 2 in the reference: want 1"},
	} {
		d := parseDims(t, dimsMesh+"tensors:\n- {match: x, dims: '"+c.rule+"'}\n")
		if _, err := d.indexes(d.rules[0], 1, c.part, c.whole); text(err) != "dims.yaml: "+c.want {
			t.Errorf("%s: %v, want %s", c.rule, err, c.want)
		}
	}
}

// FuzzDims: whatever a file holds, it is read or refused with a place in it, and rules of it
// give every rank as many slices as it has, or an error.
func FuzzDims(f *testing.F) {
	for _, seed := range []string{
		"", "a: b", "\"0\r\r", "mesh: {tp: 4, cp: 2}", "{", "- [", "&a [*a]", "tensors: [{match: '.', dims: '... # tp:partial'}]",
		dimsMesh + "layers: {offset: {pp: [0, 6]}}\nreference: {tp: 1}\ntensors:\n- {match: 'x', dims: 'o[tp:fused=4/2/2] i'}\nreplicas: [{match: w, over: [tp, dp]}]\n",
		dimsMesh + "tensors:\n- {match: 'x', dims: 's[cp:zigzag,tp] b[dp] # ep:expert=2 dp:=cp'}\n",
		dimsMesh + "tensors:\n- {match: 'x', dims: 'v[tp:pad=90] ... 1'}\n- {match: y, dims: skip}\n",
		"ranks: {0: {a: 0}, 5: {a: 1}}\ntensors:\n- {match: 'x', dims: 's[a:block=2]'}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		d, err := ParseDims("f", []byte(in))
		if err != nil {
			lines := 2                                                               // a message may be behind the last one
			for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} { // what ends a line in YAML 1.1
				lines += strings.Count(in, end)
			}
			if e := new(DimsError); !errors.As(err, &e) || e.Line < 1 || e.Line > lines || e.Column < 1 {
				t.Fatalf("%#v", err)
			}
			return
		}
		for _, r := range d.rules {
			for rank := range 6 {
				part, whole := tensor.Shape{2, 3}, tensor.Shape{8, 3}
				got, err := d.indexes(r, rank, part, whole)
				if err != nil || r.skip {
					continue
				}
				for k, x := range got {
					if int64(len(x.Or(int(whole[k])))) != part[k] {
						t.Fatalf("%s: %v", r.text, got)
					}
				}
			}
		}
	})
}

// TestLost: a role is lost where any rank has a tensor of it that is nowhere and no summand.
func TestLost(t *testing.T) {
	found := &Location{Map: &locate.Role{}}
	for _, c := range []struct {
		by   map[int]*Location
		want bool
	}{
		{map[int]*Location{}, false}, {map[int]*Location{0: found, 1: {Partial: true}}, false}, {map[int]*Location{0: found, 1: {}}, true},
	} {
		if got := (&dimsFound{placed: &placed{by: c.by}}).isLost(); got != c.want {
			t.Errorf("%+v: %v", c.by, got)
		}
	}
}
