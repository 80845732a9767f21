package overflow

import "dumptool/internal/lang"

// Fault is an error as documents have it.
type Fault struct {
	// Error is in English, ErrorZH in Chinese where that is another text.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"error_zh,omitempty"`
}

func faultOf(err error) Fault {
	text := lang.Error(err).Text()
	if text.ZH == text.EN {
		text.ZH = ""
	}
	return Fault{text.EN, text.ZH}
}

// Text is the error in both languages.
func (f *Fault) Text() lang.Text {
	if f.ErrorZH == "" {
		return lang.Text{EN: f.Error, ZH: f.Error}
	}
	return lang.Text{EN: f.Error, ZH: f.ErrorZH}
}
