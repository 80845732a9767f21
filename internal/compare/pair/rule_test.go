package pair

import "testing"

// ruleExamples has, for each rule, two tensors that this rule pairs and no earlier
// one.
var ruleExamples = [len(rules)]struct{ ref, npu string }{
	{"a.npy call=fc place=1 shape=2x3", "b.npy call=fc place=1 shape=3x2"},
	{"a.npy call=relu", "b.npy call=relu"},
	{"a.npy recorded=relu", "b.npy recorded=relu"},
	{"b.npy op=net/b", "y.bin op=other"},
	{"x.npy op=net/relu1 k=1", "Conv2D.net_conv1relu1.3.16.1624605159829577 op=net/conv1relu1"},
	{"net_relu1.1.5.npy", "Conv2D.net_conv1relu1.3.16.1624605159829577 op=net/conv1relu1"},
	{"x.npy op=net/relu1_1_8_8_64 k=1 shape=1x8x8x64", "Conv2D.net_conv1relu1.3.16.1624605159829577 op=net/conv1relu1"},
	{"Conv2D.net_conv1relu1.9.9.1624605150000000", "Conv2D.net_conv1relu1.3.16.1624605159829577 op=net/conv1relu1"},
	{"a_b.npy op=p", "a_b.bin op=q"},
	{"f.0.5.npy op=header", "g.f.1.1624605159829577 op=header"},
	{"x.0.5.npy op=net/a", "T.net_a.1.1624605159829577 op=net/a"},
	{"net_a.0.5.npy", "T.net.a.1.1624605159829577"},
	{"net_relu1.0.5.npy", "T.x.1.1624605159829577 from=net/relu1"},
	{"a_1x3.npy", "a.bin"},
	{"a_Add-op515.npy", "a_Add-op516_1.npy"},
	{"_net_MatMul_output_1.npy shape=1x8x2", "MatMul.net_MatMul.3.16.1624605159829577 op=/net/MatMul k=1 shape=8x2"},
	{"Add_338.npy shape=8", "Add.Div_331Add_338.3.16.1624605159829577 op=Div_331Add_338 shape=8"},
}

// TestRules: every rule has a description and pairs its example, which no earlier rule does. A
// new rule needs an example.
func TestRules(t *testing.T) {
	opt := Options{Map: nameMap(t, `{"net/b":"other"}`), Fusion: fusedGraph(t)}
	for i := range rules {
		r := &rules[i]
		if r.name == "" || r.sharedProperty == "" || (r.keys == nil) == (r.countedName == nil) || r.reserveRef && r.reserve == nil {
			t.Errorf("rule %d, %q, is not complete", i, r.name)
		}
		ref, npu := side(t, ruleExamples[i].ref), side(t, ruleExamples[i].npu)
		refs := []*Tensor{&ref[0]}
		if r.name == RuleATC {
			refs = append(refs, &side(t, "Add_338.npy", "Div_331.npy")[1])
		}
		j := newJoin(&opt, refs, []*Tensor{&npu[0]})
		for earlier := range i {
			j.apply(&rules[earlier], j.ref, j.npu)
		}
		if len(j.pairs)+len(j.reasons) > 0 {
			t.Errorf("rule %d: %s and %s are decided by an earlier rule: %+v", i, ruleExamples[i].ref, ruleExamples[i].npu, j)
		}
		j.apply(r, j.ref, j.npu)
		if len(j.pairs) != 1 || j.pairs[0].Rule != r.name {
			t.Errorf("rule %d, %q, does not pair %s and %s", i, r.name, ruleExamples[i].ref, ruleExamples[i].npu)
		}
	}
}
