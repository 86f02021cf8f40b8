"""The nouns: media, message, sample, request, output, answer, record, flow, model, benchmark."""
