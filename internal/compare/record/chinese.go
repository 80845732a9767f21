package record

import "dumptool/internal/lang"

// sentences calls f with every sentence of the report that JSON has in English alone.
func (r *Report) sentences(f func(*lang.Sentence)) {
	each := func(all []lang.Sentence) {
		for i := range all {
			f(&all[i])
		}
	}
	f(&r.VerdictWhy)
	f(&r.OrderSource)
	f(&r.GraphSource)
	each(r.Warnings)
	each(r.Meaning.Notes)
	if l := r.Listed; l != nil {
		each(l.Warnings)
		each(l.OfOptions)
	}
	for i := range r.Rounds {
		x := &r.Rounds[i]
		f(&x.OrderSource)
		f(&x.GraphSource)
		f(&x.Pairing.FirstDiffer)
		each(x.Pairing.Rejected)
		each(x.Pairing.Nothing)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		each(row.Notes)
		f(&row.Undiagnosed)
		if row.Err != nil {
			text := lang.Error(row.Err)
			f(&text)
			row.Err = said(row.Err, text)
		}
	}
}

// said is the error, or one that says the same in both languages.
func said(err error, text lang.Sentence) error {
	t := text.Text()
	if own := lang.Error(err).Text(); own == t {
		return err
	}
	return lang.Errorf(t.EN, t.ZH)
}

// chinese are the sentences that are others in Chinese, by those in English.
func (r *Report) chinese() map[string]string {
	all := map[string]string{}
	r.sentences(func(s *lang.Sentence) {
		if t := s.Text(); t.ZH != t.EN {
			all[t.EN] = t.ZH
		}
	})
	return all
}

// say gives the sentences their Chinese.
func (r *Report) say(chinese map[string]string) {
	if len(chinese) == 0 {
		return
	}
	r.sentences(func(s *lang.Sentence) {
		if zh, ok := chinese[s.String()]; ok {
			*s = lang.Sayf(s.String(), zh)
		}
	})
}
