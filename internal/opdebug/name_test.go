package opdebug

import "testing"

func TestIsOpDebugName(t *testing.T) {
	tests := []struct {
		name string
		want bool
	}{
		{"Opdebug.Node_OpDebug.0.3.1673383728094391", true},
		{"Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0.0", true},
		{"Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0", true},
		{"Opdebug.Node_OpDebug.0.1673383728094391.4.1.0.0", true},
		{"Opdebug.Node_OpDebug.59.1597922031178434", true},
		{"OpDebug.Node_Opdebug.65535.65535.1597922031178434", true},
		{"OpDebug.Node_Opdebug.59.1597922031178434", true},
		{"OpDebug.Node_OpDebug.59.1597922031178434", true},
		{"OPDEBUG.NODE_OPDEBUG.59.1597922031178434", true},
		{"opdebug.node_opdebug.59.1597922031178434", true},
		{"", false},
		{"Opdebug", false},
		{"Opdebug.Node_OpDebug", false},
		{"Opdebug.Node_OpDebug.", false},
		{"Opdebug.Node_OpDebug.59", false},
		{"Opdebug.Node_OpDebug.59.", false},
		{"Opdebug.Node_OpDebug.59..1597922031178434", false},
		{"Opdebug.Node_OpDebug.59.x", false},
		{"Opdebug.Node_OpDebug.-1.1597922031178434", false},
		{"Opdebug.Node_OpDebug.1.2.3.4.5.6.7.8", false},
		{"Opdebug.Node_OpDebug.0.3.1673383728094391.output.0.json", false},
		{"Opdebug.Node_OpDebugX.59.1597922031178434", false},
		{"XOpdebug.Node_OpDebug.59.1597922031178434", false},
		{"Add.Node_OpDebug.59.1597922031178434", false},
		{"Opdebug.Add.59.1597922031178434", false},
		{"dir/Opdebug.Node_OpDebug.59.1597922031178434", false},
	}
	for _, tt := range tests {
		if got := IsOpDebugName(tt.name); got != tt.want {
			t.Errorf("IsOpDebugName(%q) = %v", tt.name, got)
		}
	}
}

func TestIsOpDebugOpName(t *testing.T) {
	for name, want := range map[string]bool{
		"Node_OpDebug": true, "Node_Opdebug": true, "node_opdebug": true,
		"": false, "Node_OpDebug0": false, "Default/Node_OpDebug": false,
	} {
		if got := IsOpDebugOpName(name); got != want {
			t.Errorf("IsOpDebugOpName(%q) = %v", name, got)
		}
	}
}
