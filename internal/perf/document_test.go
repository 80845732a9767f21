package perf

import (
	"encoding/json"
	"testing"
)

func TestDocumentMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"operators":[{"mcu_cycle":"1"}]}`, `{"operators":[{"mcu_cycle":1.5}]}`, `{"operators":[{"mcu_cycle":9223372036854775808}]}`,
		`{"operators":[1]}`, `{"operators":[{"mean":"x"}]}`, `{"thresholds":{"busy":-1}}`, `{"thresholds":{"busy":"x"}}`, `[]`, `{`,
	} {
		if err := json.Unmarshal([]byte(text), new(Document)); err == nil {
			t.Errorf("%s is a document", text)
		}
	}
	var d Document
	if err := json.Unmarshal([]byte(`{"x":1,"operators":[{"name":"a","mcu_cycle":7,"vme_cycle":null}]}`), &d); err != nil {
		t.Fatal(err)
	}
	if c := &d.Operators[0].Counters; c.Get(MCU) != count(7) || c.Get(VME).Known || c.Get(MME).Known {
		t.Errorf("%v", c)
	}
}
