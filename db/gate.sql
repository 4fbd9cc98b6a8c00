select control.gate();
