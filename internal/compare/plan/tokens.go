package plan

import (
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// DefaultMask is the name of the tensor whose zeros mark the padding of responses.
const DefaultMask = "response_mask"

// logProbs matches names of log probabilities of tokens: rollout_log_probs, logprobs, per_token_logps.
var logProbs = lang.Pattern(`(?i)(^|[^a-z])log_?p(rob)?s?([^a-z]|$)`)

// lastName returns the part of a name behind its last slash or dot.
func lastName(name string) string { return name[strings.LastIndexAny(name, "/.")+1:] }

// addMasks sets the masks of the pairs of log probabilities.
func (p *Planner) addMasks() error {
	name, tokens := p.options.Mask, 0
	if name == "" {
		name = DefaultMask
	}
	masks := [2][]*Tensor{p.ref.masksOf(name), p.npu.masksOf(name)}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		if x.Ref == nil || x.NPU == nil || x.Row.Kind != string(tensor.Output) || !logProbs().MatchString(lastName(x.Row.Op)) {
			continue
		}
		tokens++
		for k, t := range []*Tensor{x.Ref, x.NPU} {
			if m := []*Side{p.ref, p.npu}[k].maskFor(t, masks[k]); m != nil {
				x.Masks = append(x.Masks, m)
			}
		}
	}
	switch {
	case p.options.Mask == "":
	case len(masks[0])+len(masks[1]) == 0:
		return Nothingf("--mask: no tensor is called %s in %s or %s", name, p.ref.Path, p.npu.Path)
	case tokens == 0:
		return Nothingf("--mask: no pair has a name like log_probs, logprobs or logps")
	}
	return nil
}

// masksOf returns the tensors with a name, or with a name that ends with it behind a slash or dot.
func (s *Side) masksOf(name string) (found []*Tensor) {
	for i := range s.pairingNames {
		if own := s.pairingNames[i].Name(); filename.SameNormalised(own, name) || lastName(own) == name {
			found = append(found, s.Tensors[s.pairingNames[i].ID])
		}
	}
	return found
}

// maskFor returns the first mask in the file of a tensor, else the first in its round; nil for none.
func (s *Side) maskFor(t *Tensor, masks []*Tensor) (found *Tensor) {
	for _, m := range masks {
		switch {
		case m.Path == t.Path:
			return m
		case found == nil && s.round[m.ID] == s.round[t.ID]:
			found = m
		}
	}
	return found
}
